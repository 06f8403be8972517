package commandtest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
)

// ServeToken is the token of each serve that Serving starts.
const ServeToken = "fQ2rT8vXw4cZ1bN7mK0pL5sD9gH3jY6e"

// A Served is a running serve command.
type Served struct {
	T            *testing.T
	URL, Webhook string   // what it said on stdout; webhook is empty without --webhook-listen
	Metrics      string   // the same, of --metrics-listen
	Lines        []string // all of that
	Stop         func() string
}

// Serving runs serve in this process until stop is called, which returns stderr. Unless variables say
// otherwise, callers need no token.
func Serving(t *testing.T, variables []string, args ...string) Served {
	t.Helper()
	if !slices.ContainsFunc(variables, func(set string) bool { return strings.HasPrefix(set, "OPLEDGER_SERVE_TOKEN=") }) {
		variables = append(variables, "OPLEDGER_SERVE_TOKEN=none")
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, writes := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		code := root.Run(ctx, append([]string{"serve", "--port", "0"}, args...), terminal.Environment{
			Variables: append([]string{"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1",
				"OPLEDGER_STORE=" + NewFile(t).Store()}, variables...),
			Out: writes, Err: &stderr,
		})
		_ = writes.Close() // a pipe's end has no error
		ended <- code
	}()
	s := Served{T: t, Stop: func() string {
		cancel()
		if code := <-ended; code != terminal.ExitDone {
			t.Errorf("exit code %d: %s", code, &stderr)
		}
		return stderr.String()
	}}
	said := make([]byte, 64<<10)
	n, err := out.Read(said) // it says everything at once
	if s.Lines = strings.Split(strings.TrimSpace(string(said[:n])), "\n"); err != nil {
		t.Fatalf("it says nothing (%v): %s", err, s.Stop())
	}
	const main, webhook = "opledger serves on ", "opledger serves /webhook alone on "
	const metrics = "opledger serves /metrics and /alerts.yml alone on "
	for i, line := range s.Lines {
		if url, ok := strings.CutPrefix(line, main); ok && i == 0 {
			s.URL = url
		} else if url, ok := strings.CutPrefix(line, webhook); ok {
			s.Webhook = url
		} else if url, ok := strings.CutPrefix(line, metrics); ok {
			s.Metrics = url
		}
	}
	if s.URL == "" || (s.Webhook == "") == slices.Contains(args, "--webhook-listen") {
		t.Fatalf("it says %q: %s", s.Lines, s.Stop())
	}
	return s
}

// WantStatus makes a request and checks the status of the answer.
func (s Served) WantStatus(status int, method, url string, header ...string) {
	s.T.Helper()
	r, err := http.NewRequestWithContext(s.T.Context(), method, url, strings.NewReader(`{"name":"batches/a"}`))
	if err != nil {
		s.T.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	r.Host = r.Header.Get("Host")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.T.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != status {
		s.T.Errorf("%s %s with %q: %s %v, want %d", method, url, header, answer.Status, err, status)
	}
}
