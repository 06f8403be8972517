package main

import (
	"bufio"
	"bytes"
	"context"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// consoleOver runs the console command on a file in this process, and returns its address. stop
// returns stderr.
func consoleOver(t *testing.T, f file, variables []string, args ...string) (url string, stop func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, writes := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, append([]string{"console", "--port", "0", "--store", f.store()}, args...),
			environment{variables: variables, out: writes, err: &stderr})
		_ = writes.Close() // a pipe's end has no error
		ended <- code
	}()
	stop = func() string {
		cancel()
		if code := <-ended; code != exitDone {
			t.Errorf("exit code %d: %s", code, &stderr)
		}
		return stderr.String()
	}
	lines := bufio.NewScanner(out)
	found := []string{}
	if lines.Scan() {
		found = regexp.MustCompile(`^the console is on (http://127\.0\.0\.1:\d+), for this machine alone` +
			`(; actions are allowed)?; `).FindStringSubmatch(lines.Text())
	}
	if len(found) != 3 {
		t.Fatalf("it says %q: %s", lines.Text(), stop())
	}
	return found[1], stop
}

// fetch returns the status and the body of a page.
func fetch(t *testing.T, method, url, host string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		request.Host = host
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestConsoleAgrees: a page of the console says what show says of the same ledger.
func TestConsoleAgrees(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	url, stop := consoleOver(t, f, nil)
	_, page := fetch(t, "GET", url+"/console/operation?key=a", "")
	shown := cli(t, nil, "show", "a", "--store", f.store()).want(t, exitDone).out
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		story, err := l.Show(ctx, "batches/a")
		if err != nil {
			return err
		}
		view := phrase.EffectView{Max: 10, Store: f.store()}
		if view.Now, err = l.Now(ctx); err != nil {
			return err
		}
		events := view.Timeline(story, ledger.Intent{})
		if len(events) < 4 {
			t.Errorf("%d events", len(events))
		}
		for _, e := range events {
			if !strings.Contains(shown, e.Words) || !strings.Contains(page, html.EscapeString(e.Words)) {
				t.Errorf("%q is not on both: %s\n%s", e.Words, shown, page)
			}
		}
		return err
	})
	_, first := fetch(t, "GET", url+"/", "")
	status := cli(t, nil, "status", "--store", f.store()).want(t, exitFailed).out
	const problem = "1 operation with a dead effect"
	if !strings.Contains(first, problem) || !strings.Contains(status, problem) {
		t.Errorf("%q is not on both: %s\n%s", problem, status, first)
	}
	for _, command := range []string{"opledger replay batches/a", "opledger waive batches/a"} {
		if !strings.Contains(shown, command) || !strings.Contains(page, command) {
			t.Errorf("%q is not on both", command)
		}
	}
	if stderr := stop(); strings.Contains(stderr, "ERROR") {
		t.Errorf("%s", stderr)
	}
}

// TestConsoleReach: the console answers this machine alone, under loopback's names, and changes
// nothing [G7].
func TestConsoleReach(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	url, stop := consoleOver(t, f, nil)
	defer stop()
	for _, c := range []struct {
		method, path, host string
		want               int
	}{
		{"GET", "/", "", 200}, {"GET", "/console/operations", "localhost:1", 200}, {"GET", "/", "evil.example", 403},
		{"POST", "/", "", 405}, {"DELETE", "/console/operation?key=batches/a", "", 405}, {"GET", "/effects", "", 404},
	} {
		if got, _ := fetch(t, c.method, url+c.path, c.host); got != c.want {
			t.Errorf("%s %s as %q: %d, want %d", c.method, c.path, c.host, got, c.want)
		}
	}
}

// TestServeConsole: serve has the console at /, behind the same guard as its other routes [G7].
func TestServeConsole(t *testing.T) {
	t.Parallel()
	s := serving(t, nil)
	defer s.stop()
	if code, page := fetch(t, "GET", s.url+"/", ""); code != 200 || !strings.Contains(page, "<h1>Overview</h1>") ||
		strings.Contains(page, "opledger show") {
		t.Errorf("%d %s", code, page)
	}
	if code, settings := fetch(t, "GET", s.url+"/console/settings", ""); code != 200 ||
		!strings.Contains(settings, "OPLEDGER_INTERVAL") || !strings.Contains(settings, "<dd>5m0s</dd>") {
		t.Errorf("%d %s", code, settings)
	}
	s.wantStatus(403, "GET", s.url+"/console/operations", "X-Forwarded-For", "203.0.113.9")
}

// TestConsoleWrong: the console needs a ledger that exists, and a port.
func TestConsoleWrong(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	cli(t, nil, "console", "--store", f.store()).want(t, exitUnread, "there is no ledger in ").complaint(t)
	f.register(string(operation.Key("batches/a")))
	cli(t, nil, "console", "--store", f.store(), "--port", "70000").want(t, exitUsage,
		"--port: it must be from 0 to 65535")
}
