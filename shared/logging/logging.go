// Package logging writes log lines in the form that Cloud Logging reads: one JSON object each, with severity, time and, where
// the request brought one, the trace it belongs to.
//
// What happened is told in the same few fields everywhere, so that metrics, charts and alerts can count on them: event
// (ingest, register, reconcile, effect, quarantine, auth, alert, discovery, intent), operation, source, outcome, reason,
// delivery, attempt, fence, failing_since, duration_ms.
package logging

import (
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"

	"github.com/opledger/opledger/shared/diag"
)

// New returns a logger that writes to w, and cuts every text of a line to 4 KiB. project is the
// Google Cloud project that traces belong to; where it is empty, lines have no trace.
func New(w io.Writer, project string) *slog.Logger {
	return slog.New(handler{
		Handler: slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: shape}),
		project: project,
	})
}

// maxValue bounds one value of a line, in bytes: callers choose much of what is logged, and each
// line is paid for.
const maxValue = 4 << 10

// shape names a field as Cloud Logging looks for it, and bounds its value.
func shape(groups []string, a slog.Attr) slog.Attr {
	a = rename(groups, a)
	a.Value = bounded(a.Value)
	return a
}

// bounded cuts what is a text, in whichever type.
func bounded(v slog.Value) slog.Value {
	text := ""
	switch v.Kind() {
	case slog.KindString:
		text = v.String()
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			text = err.Error()
		} else if named := reflect.ValueOf(v.Any()); named.Kind() == reflect.String {
			text = named.String()
		}
	}
	if len(text) <= maxValue {
		return v
	}
	return slog.StringValue(diag.Cut(text, maxValue))
}

// rename gives slog's own fields the names that Cloud Logging looks for.
func rename(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		a.Key = "time"
	case slog.MessageKey:
		a.Key = "message"
	case slog.LevelKey:
		a.Key = "severity"
		if level, ok := a.Value.Any().(slog.Level); ok && level == slog.LevelWarn {
			a.Value = slog.StringValue("WARNING")
		}
	}
	return a
}

type handler struct {
	slog.Handler
	project string
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if trace, ok := ctx.Value(traceKey{}).(string); ok && h.project != "" {
		r.AddAttrs(slog.String("logging.googleapis.com/trace", "projects/"+h.project+"/traces/"+trace))
	}
	return h.Handler.Handle(ctx, r)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{Handler: h.Handler.WithAttrs(attrs), project: h.project}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{Handler: h.Handler.WithGroup(name), project: h.project}
}

type traceKey struct{}

// WithTrace returns the request's context with the trace that Google's front end gave it, if it did,
// so that lines about the request stand together. Only 32 hex digits are a trace: any caller may
// send the header, and what it sends is logged.
func WithTrace(r *http.Request) context.Context {
	// TRACE_ID/SPAN_ID;o=1, where all but the first may be missing
	trace, _, _ := strings.Cut(r.Header.Get("X-Cloud-Trace-Context"), ";")
	trace, _, _ = strings.Cut(trace, "/")
	if !isTrace(trace) {
		// 00-TRACE_ID-SPAN_ID-01
		_, trace, _ = strings.Cut(r.Header.Get("Traceparent"), "-")
		trace, _, _ = strings.Cut(trace, "-")
	}
	if !isTrace(trace) {
		return r.Context()
	}
	return context.WithValue(r.Context(), traceKey{}, trace)
}

// isTrace reports whether text is the id of a trace: 16 bytes in hex.
func isTrace(text string) bool {
	if len(text) != hex.EncodedLen(traceBytes) {
		return false
	}
	_, err := hex.DecodeString(text)
	return err == nil
}

const traceBytes = 16
