package logging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/logging"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logged returns the one line that do logs, as Cloud Logging reads it.
func logged(t *testing.T, project string, do func(*slog.Logger)) map[string]any {
	t.Helper()
	var text bytes.Buffer
	do(logging.New(&text, project))
	if n := bytes.Count(text.Bytes(), []byte("\n")); n != 1 || !bytes.HasSuffix(text.Bytes(), []byte("\n")) {
		t.Fatalf("%d lines: %q", n, text.String())
	}
	var line map[string]any
	if err := json.Unmarshal(text.Bytes(), &line); err != nil {
		t.Fatalf("%q: %v", text.String(), err)
	}
	return line
}

// TestShort: a line without a message has none, and times are of milliseconds.
func TestShort(t *testing.T) {
	t.Parallel()
	line := logged(t, "", func(log *slog.Logger) { log.InfoContext(t.Context(), "", "event", "register") })
	if _, has := line["message"]; has || line["event"] != "register" {
		t.Errorf("%v", line)
	}
	at, err := time.Parse(time.RFC3339Nano, line["time"].(string))
	if err != nil || at.Nanosecond()%int(time.Millisecond) != 0 {
		t.Errorf("time %v, %v", line["time"], err)
	}
}

// TestForm: severity, message and time have the names and words that Cloud Logging expects, and an
// error is its text.
func TestForm(t *testing.T) {
	t.Parallel()
	for level, severity := range map[slog.Level]string{
		slog.LevelInfo: "INFO", slog.LevelWarn: "WARNING", slog.LevelError: "ERROR",
	} {
		line := logged(t, "p", func(log *slog.Logger) {
			log.Log(t.Context(), level, "two\nlines", "event", "ingest", "duration_ms", int64(7), "error",
				errors.New(`a "quoted" error`))
		})
		if line["severity"] != severity || line["message"] != "two\nlines" || line["event"] != "ingest" ||
			line["duration_ms"] != float64(7) ||
			line["error"] != `a "quoted" error` {
			t.Errorf("%s: %v", level, line)
		}
		if at, err := time.Parse(time.RFC3339Nano, line["time"].(string)); err != nil || time.Since(at) > time.Minute {
			t.Errorf("time %v", line["time"])
		}
		if line["level"] != nil || line["msg"] != nil {
			t.Errorf("slog's own names are still there: %v", line)
		}
	}
}

// TestLongValues: no text makes a line long, whatever its type, because callers choose much of what
// is logged.
func TestLongValues(t *testing.T) {
	t.Parallel()
	type name string
	long := strings.Repeat("é", 100<<10)
	for kind, value := range map[string]any{
		"text": long, "name": name(long), "error": fmt.Errorf("reading it: %w", errors.New(long)),
	} {
		line := logged(t, "p", func(log *slog.Logger) {
			log.With("with", value).Info(long, "value", value, "short",
				name("é"))
		})
		for _, field := range []string{"message", "with", "value"} {
			if text := line[field].(string); len(text) > 4<<10 || !strings.HasSuffix(text, "é…") {
				t.Errorf("%s: %s has %d bytes, and ends in %.20q", kind, field, len(text), text[len(text)-10:])
			}
		}
		if line["short"] != "é" {
			t.Errorf("%s: %v", kind, line["short"])
		}
	}
}

// masked is a text with a JSON of its own.
type masked string

func (masked) MarshalJSON() ([]byte, error) { return []byte(`{"masked":true}`), nil }

// hidden is a text that shows another.
type hidden string

func (hidden) MarshalText() ([]byte, error) { return []byte("hidden"), nil }

// TestOwnJSON: what has a JSON or a text of its own is logged so, also where it is a text, whatever that holds.
func TestOwnJSON(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"secret", unprintable, strings.Repeat("secret", 1000)} {
		line := logged(t, "p", func(log *slog.Logger) { log.Info("x", "value", masked(secret), "text", hidden(secret)) })
		value, _ := line["value"].(map[string]any)
		if value["masked"] != true || line["text"] != "hidden" {
			t.Errorf("%v", line)
		}
	}
}

// TestInTrace: lines about an operation have the trace in which it was submitted; where there is none they keep that of
// their request.
func TestInTrace(t *testing.T) {
	t.Parallel()
	const id, other = "105445aa7843bc8bf206b12000100000", "4bf92f3577b34da6a3ce929d0e0e4736"
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	r.Header.Set("X-Cloud-Trace-Context", id+"/1")
	for trace, want := range map[string]string{other: other, "": id, "malformed": id} {
		ctx := logging.InTrace(logging.WithTrace(r), trace)
		line := logged(t, "p", func(log *slog.Logger) { log.InfoContext(ctx, "x") })
		if line["logging.googleapis.com/trace"] != "projects/p/traces/"+want {
			t.Errorf("%q: %v", trace, line)
		}
	}
}

// TestTrace: lines about a request have the trace from either of the headers of Google's front end.
// A header without 32 hex digits, which any caller may send, is ignored.
func TestTrace(t *testing.T) {
	t.Parallel()
	const id = "105445aa7843bc8bf206b12000100000"
	const field = "logging.googleapis.com/trace"
	for name, c := range map[string]struct {
		project string
		header  http.Header
		want    any
	}{
		"Google's":        {"p", http.Header{"X-Cloud-Trace-Context": {id + "/1;o=1"}}, "projects/p/traces/" + id},
		"without options": {"p", http.Header{"X-Cloud-Trace-Context": {id + "/1"}}, "projects/p/traces/" + id},
		"without a span":  {"p", http.Header{"X-Cloud-Trace-Context": {id + ";o=1"}}, "projects/p/traces/" + id},
		"the trace alone": {"p", http.Header{"X-Cloud-Trace-Context": {id}}, "projects/p/traces/" + id},
		"W3C's": {"p", http.Header{"Traceparent": {"00-" + id + "-0020000000000001-01"}},
			"projects/p/traces/" + id},
		"both": {"p", http.Header{"X-Cloud-Trace-Context": {id + "/1"},
			"Traceparent": {"00-ffffffffffffffffffffffffffffffff-0020000000000001-01"}}, "projects/p/traces/" + id},
		"Google's is empty": {"p", http.Header{"X-Cloud-Trace-Context": {""},
			"Traceparent": {"00-" + id + "-0020000000000001-01"}}, "projects/p/traces/" + id},
		"no project":          {"", http.Header{"X-Cloud-Trace-Context": {id + "/1"}}, nil},
		"no header":           {"p", nil, nil},
		"nothing of a header": {"p", http.Header{"Traceparent": {"00"}}, nil},
		"a slash":             {"p", http.Header{"X-Cloud-Trace-Context": {"/1;o=1"}}, nil},
		"capitals": {"p", http.Header{"X-Cloud-Trace-Context": {strings.ToUpper(id)}},
			"projects/p/traces/" + strings.ToUpper(id)},
		"60 KB": {"p", http.Header{"X-Cloud-Trace-Context": {strings.Repeat("a", 60<<10)}}, nil},
		"60 KB of W3C's": {"p",
			http.Header{"Traceparent": {"00-" + strings.Repeat("a", 60<<10) + "-0020000000000001-01"}}, nil},
		"a digit less": {"p", http.Header{"X-Cloud-Trace-Context": {id[1:] + "/1"}}, nil},
		"a digit more": {"p", http.Header{"X-Cloud-Trace-Context": {id + "0/1"}}, nil},
		"no hex":       {"p", http.Header{"X-Cloud-Trace-Context": {"g" + id[1:]}}, nil},
		"another path": {"p", http.Header{"Traceparent": {"00-../../p2/traces/" + id[:15] + "-0020000000000001-01"}},
			nil},
		"the other is good": {"p", http.Header{"X-Cloud-Trace-Context": {"x"},
			"Traceparent": {"00-" + id + "-0020000000000001-01"}}, "projects/p/traces/" + id},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		r.Header = c.header
		ctx := logging.WithTrace(r)
		line := logged(t, c.project, func(log *slog.Logger) { log.With("event", "auth").InfoContext(ctx, "x") })
		if line[field] != c.want || line["event"] != "auth" {
			t.Errorf("%s: %v, want %v", name, line, c.want)
		}
		line = logged(t, c.project, func(log *slog.Logger) { log.InfoContext(context.Background(), "x") })
		if line[field] != nil {
			t.Errorf("%s: a trace on a line that is about no request: %v", name, line)
		}
	}
}

// unprintable is what a sender may put into a header, a job kind or a name: an escape sequence, a C1
// control, and characters that turn the order of a text round.
const unprintable = "a\x1b[2J\u009b1A\u202eb\u2066\nc"

type word string

// TestUnprintable: no text of a line holds what commands a terminal or turns text round, also not once
// the line is decoded [G8]. Errors of several lines, and messages, keep their line ends.
func TestUnprintable(t *testing.T) {
	t.Parallel()
	const want = `a\x1b[2J\u009b1A\u202eb\u2066\nc`
	line := logged(t, "", func(log *slog.Logger) {
		log.With("delivery", unprintable).Info(unprintable, "operation", word(unprintable),
			slog.Group("in", "correlation", unprintable), "names", []string{unprintable},
			"error", errors.New(unprintable))
	})
	in, _ := line["in"].(map[string]any)
	names, _ := line["names"].([]any)
	lines := strings.ReplaceAll(want, `\nc`, "\nc")
	if line["delivery"] != want || line["operation"] != want || in["correlation"] != want || len(names) != 1 ||
		names[0] != want || line["message"] != lines || line["error"] != lines {
		t.Errorf("%q, want %q", line, want)
	}
}
