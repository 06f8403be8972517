package serve_test

import (
	"context"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestConsoleAgrees: a page of the console says what show says of the same ledger.
func TestConsoleAgrees(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	url, stop := commandtest.ConsoleOver(t, f, nil)
	_, page := commandtest.Fetch(t, "GET", url+"/console/operation?key=a", "")
	shown := commandtest.Run(t, nil, "show", "a", "--store", f.Store()).Want(t, terminal.ExitDone).Out
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		story, err := l.Operations.Show(ctx, "batches/a")
		if err != nil {
			return err
		}
		view := phrase.EffectView{Max: 10, Store: f.Store()}
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
	_, first := commandtest.Fetch(t, "GET", url+"/", "")
	status := commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, terminal.ExitFailed).Out
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

var headingOrLine = regexp.MustCompile(`<h2[^>]*>([^<]+)</h2>|<div class="problem [a-z]+"><a href="[^"]+">([^<]+)</a>`)

// TestOverviewIsStatus: the Overview has each line of status --json on the same ledger under the heading of status, so
// that what needs no operator yet stands apart.
func TestOverviewIsStatus(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	f.EndTwice("batches/b")
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		return l.Passes.StorePause(ctx, ledger.EffectsPaused)
	})
	url, stop := commandtest.ConsoleOver(t, f, nil)
	defer stop()
	_, page := commandtest.Fetch(t, "GET", url+"/", "")
	page, _, _ = strings.Cut(page, "<h2>Now</h2>")
	var shown []string
	for _, found := range headingOrLine.FindAllStringSubmatch(page, -1) {
		shown = append(shown, html.UnescapeString(found[1]+found[2]))
	}
	var o overview.Overview
	commandtest.OneObject(t, commandtest.Run(t, nil, "status", "--json", "--store", f.Store()).Out, &o)
	var said []string
	for _, section := range o.Sections() {
		said = append(said, section.Heading)
		for _, problem := range section.Problems {
			said = append(said, phrase.Sentence(problem.Words))
		}
	}
	if len(o.Problems) < 2 || len(o.Notes) < 2 || !slices.Equal(shown, said) {
		t.Errorf("the page has %q, and status %q", shown, said)
	}
}

// TestConsoleReach: the console answers this machine alone, under loopback's names, and changes
// nothing [G7].
func TestConsoleReach(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	url, stop := commandtest.ConsoleOver(t, f, nil)
	defer stop()
	for _, c := range []struct {
		method, path, host string
		want               int
	}{
		{"GET", "/", "", 200}, {"GET", "/console/operations", "localhost:1", 200}, {"GET", "/", "evil.example", 403},
		{"POST", "/", "", 405}, {"DELETE", "/console/operation?key=batches/a", "", 405}, {"GET", "/effects", "", 404},
	} {
		if got, _ := commandtest.Fetch(t, c.method, url+c.path, c.host); got != c.want {
			t.Errorf("%s %s as %q: %d, want %d", c.method, c.path, c.host, got, c.want)
		}
	}
}

// TestServeConsole: serve has the console at /, behind the same guard as its other routes [G7].
func TestServeConsole(t *testing.T) {
	t.Parallel()
	s := commandtest.Serving(t, nil)
	defer s.Stop()
	if code, page := commandtest.Fetch(t, "GET", s.URL+"/", ""); code != 200 ||
		!strings.Contains(page, "<h1>Overview</h1>") ||
		strings.Contains(page, "opledger show") {
		t.Errorf("%d %s", code, page)
	}
	if code, settings := commandtest.Fetch(t, "GET", s.URL+"/console/settings", ""); code != 200 ||
		!strings.Contains(settings, "OPLEDGER_INTERVAL") || !strings.Contains(settings, "<dd>5m0s</dd>") {
		t.Errorf("%d %s", code, settings)
	}
	s.WantStatus(403, "GET", s.URL+"/console/operations", "X-Forwarded-For", "203.0.113.9")
}

// TestConsoleWrong: the console needs a ledger that exists, and a port.
func TestConsoleWrong(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	commandtest.Run(t, nil, "console", "--store", f.Store()).Want(t, terminal.ExitUnread,
		"there is no ledger in ").Complaint(t)
	f.Register(string(operation.Key("batches/a")))
	commandtest.Run(t, nil, "console", "--store", f.Store(), "--port", "70000").Want(t, terminal.ExitUsage,
		"--port: it must be from 0 to 65535")
}
