package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

// hostile is a text from outside that a page must show and never interpret.
const hostile = `<script>alert("x")</script><img src=x onerror=alert(1)>`

// A world is a ledger with every kind of document, and a console over it.
type world struct {
	testing.TB
	*ledger.Ledger
	console *Console
	store   ledger.Store
	now     time.Time
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, now: time.Now().Add(-3 * time.Hour)}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), func() time.Time { return w.now })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	w.store = store
	settings := ledger.DefaultSettings()
	settings.EnqueuedTokens = job.Quotas{"gemini-quota": 300}
	settings.Prices = job.Prices{"gemini-quota": {Input: 1, Output: 6}}
	settings.Rules = []ledger.Rule{{Name: "publish", On: []operation.State{operation.Succeeded, operation.Failed}}}
	if w.Ledger, err = ledger.New(store, settings, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	w.console = New(Options{
		Ledger: w.Ledger.Reading(), Effects: phrase.EffectView{Max: 10, RetryFor: 24 * time.Hour, Store: "sqlite:demo.db"},
		Location: config.Store{SQLite: "demo.db"}, Interval: 5 * time.Minute,
		Settings: []config.Described{{Name: "OPLEDGER_INTERVAL", Value: "5m0s"}},
		Every:    100 * time.Millisecond, Silence: time.Hour, Most: 100, Ends: 50, Parts: rows, OpenParts: 20,
		Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(w.console.Close)
	return w
}

// over returns the reading half of a ledger over a store.
func (w *world) over(store ledger.Store) ledger.Reading {
	w.Helper()
	l, err := ledger.New(store, ledger.DefaultSettings(), ledger.Options{})
	w.do(err)
	return l.Reading()
}

func (w *world) do(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// pass lets time pass.
func (w *world) pass(d time.Duration) { w.now = w.now.Add(d) }

func (w *world) register(key operation.Key, kind, correlation string) {
	w.Helper()
	_, err := w.Operations.Register(w.Context(), ledger.Registration{
		Name:       operation.Name{Key: key, Resource: string(key)},
		Submission: operation.Submission{JobKind: kind, CorrelationID: correlation}, SubmittedAt: w.now,
	})
	w.do(err)
}

func (w *world) event(key operation.Key, id string, state operation.State, source operation.Source) {
	w.Helper()
	_, err := w.Operations.Ingest(w.Context(), operation.Event{
		Name: operation.Name{Key: key, Resource: string(key)}, DeliveryID: id, Source: source, Type: "batch.event",
		State: state, UpdateTime: w.now,
	})
	w.do(err)
}

// attempt claims the effect of an operation, and ends the attempt.
func (w *world) attempt(key operation.Key, end func(context.Context, ledger.Lease) error) {
	w.Helper()
	grant, err := w.Effects.Claim(w.Context(), key, "publish")
	w.do(err)
	w.pass(1200 * time.Millisecond)
	w.do(end(w.Context(), grant.Lease))
}

func (w *world) fails(key operation.Key, text string, wait time.Duration) {
	w.Helper()
	w.attempt(key, func(ctx context.Context, lease ledger.Lease) error {
		_, err := w.Effects.Release(ctx, lease, errors.New(text), wait)
		return err
	})
}

// fill makes a ledger with every kind of trouble:
//
//	batches/done      settled, its effect done at the third attempt, a stale RUNNING dropped, a conflict
//	batches/dead      its effect is dead
//	batches/failing   its effect fails, and backs off
//	batches/missing   Gemini does not know it
//	batches/running   pending
//	batches/stranger  settled and not registered
func (w *world) fill() {
	w.Helper()
	_, err := w.Intents.Intend(w.Context(), ledger.Intention{
		Submission: operation.Submission{CorrelationID: "night-1", JobKind: "nightly"},
	})
	w.do(err)
	w.pass(2 * time.Second)
	for _, key := range []operation.Key{"batches/done", "batches/dead", "batches/failing", "batches/missing",
		"batches/running"} {
		correlation := ""
		if key == "batches/done" {
			correlation = "night-1"
		}
		w.register(key, "nightly", correlation)
		w.pass(time.Second)
	}
	w.event("batches/done", "m1", operation.Running, operation.Reconcile)
	w.pass(90 * time.Minute)
	for i, key := range []operation.Key{"batches/done", "batches/dead", "batches/failing", "batches/stranger"} {
		w.event(key, "m2"+string(rune('a'+i)), operation.Succeeded, operation.Webhook)
	}
	w.fails("batches/done", "the receiver answered 503", 0)
	w.pass(20 * time.Minute)
	w.fails("batches/done", "the receiver answered 503", 0)
	w.event("batches/done", "m3", operation.Running, operation.Webhook)
	w.event("batches/done", "m4", operation.Failed, operation.Webhook)
	w.pass(20 * time.Minute)
	w.attempt("batches/done", func(ctx context.Context, lease ledger.Lease) error { return w.Effects.Finish(ctx, lease) })
	w.attempt("batches/dead", func(ctx context.Context, lease ledger.Lease) error {
		return w.Effects.MarkDead(ctx, lease, errors.New("the receiver answered 400: "+hostile))
	})
	w.fails("batches/failing", "the receiver answered 500", time.Hour)
	for range 3 {
		_, err := w.Operations.RecordCondition(w.Context(), "batches/missing", ledger.ConditionNotFound)
		w.do(err)
		w.pass(time.Minute)
	}
	_, err = w.Quarantine.Add(w.Context(), ledger.Suspect{
		ID: "msg_bad", Reason: "malformed", Detail: "no JSON: " + hostile, Body: []byte(hostile),
	})
	w.do(err)
	_, err = w.Intents.Intend(w.Context(), ledger.Intention{Submission: operation.Submission{CorrelationID: "night-2"}})
	w.do(err)
	lookups, err := w.Passes.Begin(w.Context(), time.Minute)
	w.do(err)
	w.do(lookups.Report(w.Context(), ledger.Pass{
		Began: w.now.Add(-2 * time.Second), Ended: w.now, Outcome: ledger.PassErrors, Due: 3, Checked: 2, Settled: 1,
		Requeued: 1, Errors: 1, Error: "looking up batches/running: " + hostile, Webhook: ledger.WebhookDisabled,
		Effects: ledger.EffectsPaused,
	}))
	w.pass(time.Second)
}

// get returns the answer to a request for a page.
func (w *world) get(address string) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	w.console.ServeHTTP(recorder, httptest.NewRequestWithContext(w.Context(), "GET", address, nil))
	return recorder
}
