package reconcile_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// lastPass makes a pass with these options, and returns how it says that it ended.
func (w *world) lastPass(o reconcile.Options) ledger.Pass {
	w.Helper()
	if o.Ledger == nil {
		o.Ledger = w.ledger
	}
	o.Gemini, o.Log = w.client, logging.New(w.log, "p")
	began := w.clock.Now()
	_, _ = reconcile.New(o).Pass(w.Context()) // its error is in the report
	last, _, err := w.ledger.Passes.Last(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if !last.Began.Equal(began) || last.Ended.Before(began) || last.Ended.After(began.Add(time.Hour)) {
		w.Errorf("it began at %v and ended at %v, and the pass began at %v", last.Began, last.Ended, began)
	}
	last.Began, last.Ended = time.Time{}, time.Time{}
	return last
}

// TestReport: a pass stores what it did, what it knows of a pause, and nothing else.
func TestReport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	none := ledger.Pass{Outcome: ledger.PassDone, Webhook: ledger.WebhookNone}
	if got := w.lastPass(reconcile.Options{}); got != none {
		t.Errorf("an idle pass: %+v", got)
	}
	w.manyBatches(1)
	w.clock.Advance(interval)
	running := ledger.Pass{
		Outcome: ledger.PassDone, Due: 1, Checked: 1, Webhook: ledger.WebhookUnknown, Effects: ledger.EffectsPaused,
	}
	o := reconcile.Options{Dynamic: true, Effects: func() ledger.Pause { return ledger.EffectsPaused }}
	if got := w.lastPass(o); got != running {
		t.Errorf("a pass with a look-up: %+v", got)
	}
}

// TestReportUnanswered: a pass says that Gemini answered none of its look-ups, and why; one without look-ups keeps
// that, and the first answer ends it.
func TestReportUnanswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.manyBatches(2)
	w.clock.Advance(interval)
	w.fails(geminisim.OpList, "", http.StatusServiceUnavailable, 10)
	w.fails(geminisim.OpGet, "", http.StatusServiceUnavailable, 2)
	down := w.lastPass(reconcile.Options{})
	if none := down.Unanswered; none == nil || none.LookUps != 2 || none.Reason != lookup.Unavailable ||
		!strings.Contains(none.Error, "503") {
		t.Errorf("%+v, %+v", down, none)
	}
	if idle := w.lastPass(reconcile.Options{}); idle.Checked != 0 || idle.Unanswered == nil {
		t.Errorf("a pass without look-ups: %+v", idle)
	}
	w.clock.Advance(2 * interval)
	w.fails(geminisim.OpGet, "", http.StatusServiceUnavailable, 1)
	if up := w.lastPass(reconcile.Options{}); up.Checked != 2 || up.Unanswered != nil {
		t.Errorf("once Gemini answers: %+v", up)
	}
}

// TestReportUnansweredBeforeAJob: a pass that looks only a job up asks Gemini nothing, and so keeps that Gemini answers
// nothing.
func TestReportUnansweredBeforeAJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.manyBatches(1)[0]
	w.clock.Advance(interval)
	w.fails(geminisim.OpList, "", http.StatusForbidden, 1)
	w.fails(geminisim.OpGet, "", http.StatusForbidden, 1)
	if down := w.lastPass(reconcile.Options{}); down.Unanswered == nil {
		t.Errorf("%+v", down)
	}
	w.deliver(name, "d1", operation.Succeeded)
	w.submitJob()
	w.clock.Advance(grace)
	if of := w.lastPass(reconcile.Options{}); of.Checked != 1 || of.Unanswered == nil {
		t.Errorf("a pass with a job alone: %+v", of)
	}
}

// TestReportOfTheWebhook: a pass stores the webhook's health as it saw it [R4].
func TestReportOfTheWebhook(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]ledger.WebhookHealth{
		webhooks.Enabled: ledger.WebhookEnabled, webhooks.DisabledByFailures: ledger.WebhookDisabled,
		webhooks.Disabled: ledger.WebhookDisabled, "": ledger.WebhookMissing,
	} {
		w := newWorld(t)
		at, _ := w.endpoint(state)
		if got := w.lastPass(reconcile.Options{Endpoint: at}); got.Webhook != want || got.Outcome != ledger.PassDone {
			t.Errorf("state %q: %+v, want %s", state, got, want)
		}
		if state == "" {
			at.Created = func(context.Context) (bool, error) { return false, nil }
			if got := w.lastPass(reconcile.Options{Endpoint: at}); got.Webhook != ledger.WebhookNone {
				t.Errorf("never created: %+v", got)
			}
		}
	}
}

// TestReportOfErrors: a pass stores the first of its errors and how many there were, and that nothing
// could be read.
func TestReportOfErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at, _ := w.endpoint(webhooks.Enabled)
	w.front = func(rw http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "webhooks") {
			return false
		}
		http.Error(rw, `{"error":{"message":"no rights"}}`, http.StatusForbidden)
		return true
	}
	got := w.lastPass(reconcile.Options{Endpoint: at})
	if got.Outcome != ledger.PassErrors || got.Errors != 1 || got.Webhook != ledger.WebhookUnknown ||
		!strings.HasPrefix(got.Error, "checking the webhook: ") {
		t.Errorf("a webhook that cannot be read: %+v", got)
	}
	blind := w.over(blind{w.store})
	got = w.lastPass(reconcile.Options{Ledger: blind})
	if got.Outcome != ledger.PassFailed || !strings.Contains(got.Error, errBlind.Error()) {
		t.Errorf("nothing can be read: %+v", got)
	}
}

// A blind store finds nothing by a query.
type blind struct{ ledger.Store }

var errBlind = errors.New("the index is missing")

func (blind) Query(context.Context, ledger.Query) ([]ledger.Document, error) { return nil, errBlind }
