package console

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// addresses are all pages of a filled world.
var addresses = []string{
	"/", "/console/operations", "/console/operations?show=pending", "/console/operations?show=dead",
	"/console/operations?show=conflict", "/console/operations?show=dead&since=night&collection=batches", "/console/passes",
	"/console/effects?show=dead&error=the+receiver",
	"/console/operations?state=SUCCEEDED&since=24h", "/console/operation?key=batches%2Fdone",
	"/console/operation?key=batches%2Fdead", "/console/operation?key=batches%2Ffailing",
	"/console/operation?key=batches%2Fmissing", "/console/operation?key=batches%2Fstranger", "/console/effects",
	"/console/effects?show=dead", "/console/intents", "/console/intent?key=night-2", "/console/quarantine",
	"/console/quarantined?key=msg_bad", "/console/settings", receiversPath,
}

// TestPages: each page of a ledger with every kind of document is whole, names no other host, and
// escapes what came from outside.
func TestPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill()
	w.fillJobs()
	for _, address := range slices.Concat(addresses, jobAddresses) {
		answer := w.get(address)
		body := answer.Body.String()
		if answer.Code != http.StatusOK || strings.Contains(body, `role="alert"><strong>Not everything`) {
			t.Errorf("%s: %d %s", address, answer.Code, body)
		}
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img src=x") {
			t.Errorf("%s: a text from outside is not escaped", address)
		}
		for _, no := range []string{"http://", "https://", "style=", " onclick", "hx-on", "javascript:"} {
			if strings.Contains(body, no) {
				t.Errorf("%s has %q, which the policy forbids", address, no)
			}
		}
		if !strings.Contains(body, "hx-sse:connect") {
			t.Errorf("%s has no stream", address)
		}
		if !strings.Contains(answer.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'") {
			t.Errorf("%s: headers %v", address, answer.Header())
		}
	}
}

// TestTemplates: the templates of every page can be parsed. A console parses them when the page is first shown.
func TestTemplates(t *testing.T) {
	t.Parallel()
	for _, p := range append(pages, asking) {
		if body := p.templates().Lookup("body"); body == nil { // else only its first request says so
			t.Errorf("%s has no body", p.file)
		}
	}
}

// TestEmpty: the pages of an empty ledger say what to do.
func TestEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for address, want := range map[string]string{
		"/": "Nothing needs an operator now.", "/console/operations": "opledger register batches/NAME",
		"/console/operations?state=FAILED": "No operation matches these filters.",
		"/console/effects":                 "No effect waits or runs.",
		"/console/effects?show=dead":       "No effect is dead.", "/console/intents": "No intent waits for its operation.",
		"/console/quarantine": "Nothing is in quarantine.",
	} {
		if answer := w.get(address); answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), want) {
			t.Errorf("%s: %d, without %q", address, answer.Code, want)
		}
	}
}

// TestWrongAddresses: a query that means nothing is refused with what is possible, and what does not
// exist is not found. The rest of the page stays.
func TestWrongAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for address, want := range map[string]struct {
		code int
		says string
	}{
		"/console/operations?state=GONE":      {400, "is not one of PENDING, "},
		"/console/operations?collection=x":    {400, "is not one of operations, batches"},
		"/console/operations?show=x":          {400, "none of pending, age, late, dead, conflict and unregistered"},
		"/console/operations?since=5m":        {400, "night, 24h, 72h and 168h"},
		"/console/operations?after=x":         {400, "it is not the cursor of a next page"},
		"/console/operations?job=%5B":         {400, "pattern"},
		"/console/effects?show=x":             {400, "neither empty nor dead"},
		"/console/operation?key=":             {400, "name"},
		"/console/operation?key=batches%2Fno": {404, "the ledger has no such operation"},
		"/console/intent?key=no":              {404, "the ledger has no such intent"},
		"/console/quarantined?key=no":         {404, "no"},
	} {
		answer := w.get(address)
		if body := answer.Body.String(); answer.Code != want.code || !strings.Contains(body, want.says) ||
			!strings.Contains(body, "<nav") || strings.Contains(body, "hx-sse:connect") {
			t.Errorf("%s: %d, want %d with %q: %s", address, answer.Code, want.code, want.says, body)
		}
	}
	if body := w.get("/console/operations?job=nightly-*").Body.String(); strings.Contains(body, "hx-sse:connect") {
		t.Error("a list that may read thousands of documents is read again and again")
	}
	if answer := w.get("/console/nothing"); answer.Code != http.StatusNotFound {
		t.Errorf("another address: %d", answer.Code)
	}
}

// TestStoreFails: a page whose ledger cannot be read says so, and what still works; it stays live. The
// settings are shown all the same, and nothing is acted on.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	w := acting(t)
	form := w.question(everyAction[0].address())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.console.ledger = w.over(broken{w.store, ctx})
	for address, code := range map[string]int{
		"/": 503, "/console/operations": 503, "/console/operation?key=batches%2Fdead": 503, "/console/effects": 503,
		"/console/effects?show=dead": 503, "/console/quarantine": 503, "/console/intents": 503, "/console/settings": 200,
	} {
		answer := w.get(address)
		body := answer.Body.String()
		if answer.Code != code || !strings.Contains(body, "hx-sse:connect") || !strings.Contains(body, "<nav") ||
			strings.Contains(body, "<strong>Not everything can be shown.</strong>") != (code == 503) ||
			strings.Contains(body, "It is tried again while this page is open.") != (code == 503) {
			t.Errorf("%s: %d %s", address, answer.Code, body)
		}
	}
	if answer := w.post(form); answer.Code != 503 || !strings.Contains(answer.Body.String(), "Nothing was done.") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// broken is a store that cannot be read: each read ends as one whose time is over.
type broken struct {
	ledger.Store
	ended context.Context
}

func (b broken) Get(_ context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	return b.Store.Get(b.ended, paths...)
}
