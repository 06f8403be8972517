// Package logging writes log lines in the form that Cloud Logging reads: one JSON object each, with
// severity, time and, for a request that has one, its trace.
//
// All packages use the same few fields, which metrics, charts and alerts count: event (ingest,
// register, reconcile, effect, quarantine, auth, alert, discovery, intent, settings, canary),
// operation, source, outcome, reason, delivery, attempt, fence, failing_since, duration_ms.
package logging

import (
	"context"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
)

// New returns a logger that writes to w, cuts every text of a line to 4 KiB, and escapes what is not
// printable in it. project is the
// Google Cloud project of traces. If it is empty, lines have no trace.
func New(w io.Writer, project string) *slog.Logger {
	return slog.New(handler{
		Handler: slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: shape}),
		project: project,
	})
}

// maxValue bounds one value of a line, in bytes, because callers choose much of what is logged and
// each line costs money.
const maxValue = 4 << 10

// shape gives a field Cloud Logging's name, and bounds its value and makes it printable. An empty message is left out:
// of a line whose event and outcome say all.
func shape(groups []string, a slog.Attr) slog.Attr {
	a = rename(groups, a)
	if len(groups) == 0 && a.Key == "message" && a.Value.String() == "" {
		return slog.Attr{}
	}
	a.Value = safe(a.Value, len(groups) == 0 && a.Key == "message")
	return a
}

// safe cuts and escapes a value that is a text, of whatever type, or a list of texts. Line ends stay
// in an error, and with lines: several errors that are joined have one each. What has a JSON or a text of
// its own answers for that.
func safe(v slog.Value, lines bool) slog.Value {
	text := ""
	switch v.Kind() {
	case slog.KindString:
		text = v.String()
	case slog.KindAny:
		switch value := v.Any().(type) {
		case json.Marshaler:
			return v
		case []string:
			return slog.AnyValue(safeList(value))
		case error:
			text, lines = value.Error(), true
		case encoding.TextMarshaler: // which slog asks only where it is no error
			return v
		default:
			if named := reflect.ValueOf(value); named.Kind() == reflect.String {
				text = named.String()
				v = slog.StringValue(text) // which is written without reflection
			}
		}
	}
	if shown := printable(text, lines); shown != text {
		return slog.StringValue(shown)
	}
	return v
}

func safeList(list []string) []string {
	shown := make([]string, len(list))
	for i, text := range list {
		shown[i] = printable(text, false)
	}
	return shown
}

// printable returns at most maxValue bytes of a text, escaped.
func printable(text string, lines bool) string {
	escape := diag.Printable
	if lines {
		escape = diag.PrintableLines
	}
	if len(text) > maxValue {
		text = diag.Cut(text, maxValue) // before it is escaped: it may be very long
	}
	if text = escape(text); len(text) > maxValue {
		text = diag.Cut(text, maxValue)
	}
	return text
}

// rename gives slog's own fields the names that Cloud Logging expects.
func rename(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		if a.Key = "time"; a.Value.Kind() == slog.KindTime {
			a.Value = slog.TimeValue(a.Value.Time().Truncate(time.Millisecond))
		}
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

// WithTrace returns the request's context with the trace that Google's front end gave it, if it
// did, so that the lines about one request are found together. Only 32 hex digits are a trace,
// because any caller can send the header, and it is logged.
func WithTrace(r *http.Request) context.Context {
	// TRACE_ID/SPAN_ID;o=1, where all but the first may be missing
	trace, _, _ := strings.Cut(r.Header.Get("X-Cloud-Trace-Context"), ";")
	trace, _, _ = strings.Cut(trace, "/")
	if !isTrace(trace) {
		// 00-TRACE_ID-SPAN_ID-01
		_, trace, _ = strings.Cut(r.Header.Get("Traceparent"), "-")
		trace, _, _ = strings.Cut(trace, "-")
	}
	return InTrace(r.Context(), trace)
}

// InTrace returns a context whose lines belong to this trace, such as that in which an operation was submitted. Where
// trace is no id of one, it is ctx.
func InTrace(ctx context.Context, trace string) context.Context {
	if !isTrace(trace) {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, trace)
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
