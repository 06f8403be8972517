package infra_test

import (
	"context"
	"net/http"
	"time"

	"github.com/opledger/opledger/functions/reconcile"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	sharedreconcile "github.com/opledger/opledger/shared/reconcile"
)

const endpointURL = "https://webhook-abc-uc.a.run.app/"

// pass makes the function make a pass some minutes later, which checks the webhook at at unless it
// is nil.
func (w *world) pass(at *sharedreconcile.Endpoint) {
	w.Helper()
	w.clock.Advance(w.ledger.Settings().Interval)
	w.post(reconcile.New(reconcile.Options{
		Reconciler: sharedreconcile.New(sharedreconcile.Options{
			Ledger: w.ledgerOf("reconcile"), Gemini: w.client, Endpoint: at, Log: w.log("reconcile"),
			Effects: func() ledger.Pause { return w.knows },
		}),
		Now: w.clock.Now, Log: w.log("reconcile"),
	}), http.Header{}, "")
}

// endpoint makes Gemini's webhook in a state; none if that is empty.
func (w *world) endpoint(state string) *sharedreconcile.Endpoint {
	w.Helper()
	client, err := webhooks.NewClient(webhooks.Options{APIKey: "key", BaseURL: w.api.URL,
		HTTP: w.api.Client()})
	if err != nil {
		w.Fatal(err)
	}
	at := &sharedreconcile.Endpoint{Webhooks: client, URL: endpointURL, Reenable: true}
	if state == "" {
		return at
	}
	made, err := client.Create(w.Context(), "opledger", endpointURL)
	if err != nil {
		w.Fatal(err)
	}
	if err := w.sim.SetWebhookState(made.ID, state); err != nil {
		w.Fatal(err)
	}
	return at
}

// longList makes Gemini's list one that has no end.
func (w *world) longList() {
	w.sim.AnswerNext(geminisim.OpList, "", geminisim.Answer{Body: []byte(`{"nextPageToken":"more"}`), Times: -1})
}

// found returns the situation in which a pass finds a batch in a state.
func found(state geminisim.State, want ...string) situation {
	return situation{"reconcile: a batch is in " + string(state), func(w *world) {
		w.registered(w.batch("a", state))
		w.pass(nil)
	}, append(want, "passes")}
}

// refuses returns the situation in which Gemini answers a look-up with a status.
func refuses(name string, status int, want ...string) situation {
	return situation{"reconcile: " + name, func(w *world) {
		w.registered(w.batch("a", geminisim.StateRunning))
		w.sim.AnswerNext(geminisim.OpGet, "", geminisim.ErrorAnswer(status, "no"))
		w.sim.AnswerNext(geminisim.OpList, "", geminisim.ErrorAnswer(status, "no"))
		w.pass(nil)
	}, append(want, "passes")}
}

// delivers returns the situation in which a pass finds the webhook in a state.
func delivers(name, state string, want ...string) situation {
	return situation{"reconcile: the webhook is " + name, func(w *world) {
		w.pass(w.endpoint(state))
	}, append(want, "passes")}
}

// intended records an intent.
func (w *world) intended(id string, in operation.Collection) {
	w.Helper()
	if _, err := w.ledger.Intents.Intend(w.Context(), ledger.Intention{
		Submission: operation.Submission{CorrelationID: id}, Collection: in,
	}); err != nil {
		w.Fatal(err)
	}
}

var ofReconcile = []situation{
	{"reconcile: nothing is due", func(w *world) { w.pass(nil) }, []string{"passes"}},
	found(geminisim.StateRunning),
	found(geminisim.StateSucceeded, "recovered"),
	found(geminisim.StateFailed, "recovered"),
	found(geminisim.StateCancelled, "recovered"),
	found(geminisim.StateExpired, "recovered"),
	found("BATCH_STATE_DREAMING", "look-ups-without-answer"),
	refuses("Gemini is down", http.StatusServiceUnavailable, "look-ups-without-answer", "unanswered"),
	refuses("Gemini refuses the key", http.StatusForbidden, "key-denied"),
	{"reconcile: batches of a newer revision", func(w *world) {
		for _, id := range []string{"a", "b"} {
			w.raise(ledger.OperationPath(w.registered(w.batch(id, geminisim.StateSucceeded)).Key))
		}
		w.pass(nil)
	}, []string{"newer", "passes"}},
	{"reconcile: an end that the webhook told first", func(w *world) {
		name := w.registered(w.batch("a", geminisim.StateSucceeded))
		w.end(name, operation.Succeeded)
		w.pass(nil)
	}, []string{"passes"}},
	{"reconcile: an end longer ago than the retention", func(w *world) {
		name := w.batch("a", geminisim.StateSucceeded)
		w.clock.Advance(15 * 24 * time.Hour)
		w.registered(name)
		w.pass(nil)
	}, []string{"passes", "recovered", "withheld"}},
	{"reconcile: the webhook tells another end meanwhile", func(w *world) {
		name := w.registered(w.batch("a", geminisim.StateFailed))
		w.before.Store(func() { w.end(name, operation.Succeeded) })
		w.pass(nil)
	}, []string{"passes", "conflicts"}},
	{"reconcile: the topic takes nothing", func(w *world) {
		w.registered(w.batch("a", geminisim.StateSucceeded))
		w.outbox.Fail(http.ErrServerClosed)
		w.pass(nil)
	}, []string{"passes", "recovered", "reconcile-errors"}},
	{"reconcile: pending for too long", func(w *world) {
		w.registered(w.batch("a", geminisim.StateRunning))
		w.clock.Advance(w.ledger.Settings().BatchStuckAfter)
		w.pass(nil)
	}, []string{"passes", "stuck", "overdue"}},
	{"reconcile: Gemini asks to be left alone for longer than a pass lasts", func(w *world) {
		at := w.endpoint(webhooks.Enabled)
		w.registered(w.batch("a", geminisim.StateRunning))
		w.intended("c-1", operation.Batches) // it is searched for after the look-ups
		slower := geminisim.ErrorAnswer(http.StatusTooManyRequests, "slower")
		slower.Header = http.Header{"Retry-After": {"3600"}}
		w.sim.AnswerNext(geminisim.OpGet, "", slower)
		w.pass(at)
	}, []string{"passes", "look-ups-without-answer", "behind", "unanswered"}},
	{"reconcile: no worker has answered for more than an hour", func(w *world) {
		w.end(w.registered(w.named("batches/a")), operation.Expired)
		w.clock.Advance(time.Hour)
		w.pass(nil)
	}, []string{"passes", "overdue"}},
	{"reconcile: not found", func(w *world) {
		w.registered(w.named("batches/none"))
		w.pass(nil)
	}, []string{"passes", "look-ups-without-answer"}},
	{"reconcile: not found for an hour", func(w *world) {
		w.registered(w.named("batches/none"))
		w.pass(nil)
		w.clock.Advance(time.Hour)
		w.forget()
		w.pass(nil)
	}, []string{"passes", "look-ups-without-answer", "missing", "overdue"}},
	{"reconcile: Gemini's list does not end", func(w *world) {
		w.intended("c-1", operation.Batches)
		w.longList()
		w.pass(nil)
	}, []string{"passes", "long-list", "reconcile-errors"}},
	{"reconcile: an intent of which nothing came", func(w *world) {
		w.intended("c-1", operation.Interactions)
		w.clock.Advance(w.ledger.Settings().StuckAfter)
		w.pass(nil)
	}, []string{"passes", "unbound"}},
	{"reconcile: an intent whose batch is found", func(w *world) {
		w.intended("c-1", operation.Batches)
		w.batch("nightly opledger:c-1", geminisim.StateRunning)
		w.pass(nil)
	}, []string{"passes"}},
	delivers("enabled", webhooks.Enabled),
	delivers("disabled by failures", webhooks.DisabledByFailures, "webhook-disabled"),
	delivers("disabled by a person", webhooks.Disabled, "webhook-disabled"),
	delivers("gone", "", "webhook-disabled"),
	{"reconcile: an end that the enabled webhook did not tell", func(w *world) {
		at := w.endpoint(webhooks.Enabled)
		w.registered(w.batch("a", geminisim.StateSucceeded))
		w.pass(at)
	}, []string{"passes", "recovered", "unannounced", "ends", "undelivered"}},
	{"reconcile: an end without an event", func(w *world) {
		at := w.endpoint(webhooks.Enabled)
		w.registered(w.batch("a", geminisim.StateCancelled))
		w.pass(at)
	}, []string{"passes", "recovered"}},
	{"reconcile: Gemini signs with another secret", func(w *world) {
		at := w.endpoint(webhooks.Enabled)
		at.Secrets = func(context.Context) ([]string, error) { return []string{other}, nil }
		w.registered(w.batch("a", geminisim.StateSucceeded)) // of which nothing is delivered
		w.pass(at)
		w.pass(at)
	}, []string{"passes", "recovered", "wrong-secret"}},
	{"reconcile: the webhook was never created", func(w *world) {
		at := w.endpoint("")
		at.Created = func(context.Context) (bool, error) { return false, nil }
		w.pass(at)
	}, []string{"passes"}},
	{"reconcile: the webhook cannot be looked at", func(w *world) {
		at := w.endpoint(webhooks.Enabled)
		w.sim.AnswerNext(geminisim.OpWebhook, "", geminisim.ErrorAnswer(http.StatusServiceUnavailable, "later"))
		w.pass(at)
	}, []string{"passes", "reconcile-errors"}},
	{"reconcile: the store is down", func(w *world) {
		w.storeDown()
		w.pass(nil)
	}, []string{"reconcile-errors"}},
}
