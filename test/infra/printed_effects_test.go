package infra_test

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/kinds"
	effectlog "github.com/opledger/opledger/shared/effect/log"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
)

// run pushes a message to the function, whose own effect is own; nil: it succeeds.
func (w *world) run(m ledger.Message, own func()) {
	w.Helper()
	w.runOn(w.runs(false, own), m)
}

// runOn pushes a message to the function.
func (w *world) runOn(function effects.Function, m ledger.Message) {
	w.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		w.Fatal(err)
	}
	w.post(function, http.Header{}, push(string(data)))
}

// push is the body that Pub/Sub sends.
func push(data string) string {
	return fmt.Sprintf(`{"message":{"data":%q,"messageId":"7"}}`, base64.StdEncoding.EncodeToString([]byte(data)))
}

func (w *world) runs(paused bool, own func()) effects.Function {
	w.Helper()
	fetched, err := results.New(results.Options{APIKey: "key", BaseURL: w.api.URL, HTTP: w.api.Client()})
	if err != nil {
		w.Fatal(err)
	}
	handlers, err := kinds.Handlers(w.effects, kinds.Options{
		Log: w.log("effects"), AllowPrivate: true, Now: w.clock.Now, Ledger: w.ledger, Results: fetched,
		Custom: map[string]effect.Handler{"own": effect.HandlerFunc(
			func(context.Context, effect.Task) ([]ledger.Write, error) {
				if own != nil {
					own()
				}
				return nil, nil
			})},
	})
	if err != nil {
		w.Fatal(err)
	}
	maps.Copy(handlers, w.steps(nil))
	return w.function(handlers, paused)
}

// function is Effects with these handlers.
func (w *world) function(handlers map[string]effect.Handler, paused bool) effects.Function {
	return effects.New(effects.Options{
		Runner: effect.NewRunner(w.ledger, handlers), Paused: paused, Now: w.clock.Now, Log: w.log("effects"),
	})
}

// planned ends an operation, and returns the message about one of its effects.
func (w *world) planned(name string) ledger.Message {
	w.Helper()
	w.end(w.registered(w.named("batches/a")), operation.Expired)
	return w.message(name)
}

// lookUp applies Gemini's answer about an operation.
func (w *world) lookUp(name operation.Name) {
	w.Helper()
	if _, err := w.ledger.Operations.Ingest(w.Context(), w.client.Lookup(w.Context(), name).Event(name)); err != nil {
		w.Fatal(err)
	}
}

// answered returns the situation in which the receiver answers the effect with a status.
func answered(name string, status int32, want ...string) situation {
	return situation{"effects: the receiver " + name, func(w *world) {
		w.answer.Store(status)
		w.run(w.planned("publish"), nil)
	}, append(want, "effects")}
}

// repeated returns the situation in which the message is redelivered after the receiver answered
// with a status.
func repeated(name string, status int32) situation {
	return situation{"effects: again, after the receiver " + name, func(w *world) {
		m := w.planned("publish")
		w.answer.Store(status)
		w.run(m, nil)
		w.forget()
		w.run(m, nil)
	}, []string{"effects"}}
}

// malform makes a document unreadable, bypassing the store's checks.
func (w *world) malform(path ledger.Path) {
	db, err := sql.Open("sqlite", w.file)
	if err != nil {
		w.Error(err)
		return
	}
	defer db.Close()
	if _, err := db.ExecContext(w.Context(),
		`UPDATE documents SET body = json_set(body, '$.attempts', 'many') WHERE path = ?`, string(path)); err != nil {
		w.Error(err)
	}
}

// raise makes a document one of a newer revision.
func (w *world) raise(path ledger.Path) {
	ledgertest.Renumber(w, w.store, path, operation.NewestSchema+1)
}

// takeOver claims the effect of a message, like another instance.
func (w *world) takeOver(m ledger.Message) {
	if grant, err := w.ledger.Effects.Claim(w.Context(), m.Operation,
		m.Effect); err != nil || grant.Verdict != ledger.Claimed {
		w.Errorf("%+v %v", grant, err)
	}
}

var ofEffects = []situation{
	answered("takes it", http.StatusOK),
	answered("is away", http.StatusServiceUnavailable, "effects-failing"),
	answered("says no", http.StatusGone, "effects-dead"),
	repeated("took it", http.StatusOK),
	repeated("was away", http.StatusServiceUnavailable),
	repeated("said no", http.StatusGone),
	{"effects: the receiver is away for an hour", func(w *world) {
		m := w.planned("publish")
		w.answer.Store(http.StatusServiceUnavailable)
		w.run(m, nil)
		w.clock.Advance(time.Hour)
		w.forget()
		w.run(m, nil)
	}, []string{"effects", "effects-failing", "effects-failing-long"}},
	{"effects: a receiver that takes none of a batch's items", func(w *world) {
		name := w.registered(w.batch("items", geminisim.StateRunning))
		if err := w.sim.SetState(name.Resource, geminisim.StateSucceeded); err != nil {
			w.Error(err)
		}
		w.lookUp(name)
		w.answer.Store(http.StatusGone)
		w.run(w.message("each"), nil)
	}, []string{"effects", "effects-dead", "items-failed"}},
	{"effects: about what a newer revision wrote", func(w *world) {
		m := w.planned("publish")
		w.forget()
		w.raise(ledger.EffectPath(m.Operation, "publish"))
		w.run(m, nil)
	}, []string{"effects", "newer"}},
	{"effects: another instance is at it", func(w *world) {
		m := w.planned("own")
		w.takeOver(m)
		w.run(m, nil)
	}, []string{"effects"}},
	{"effects: a claim that was left behind", func(w *world) {
		m := w.planned("own")
		w.takeOver(m)
		w.clock.Advance(w.ledger.Settings().ClaimTTL)
		w.run(m, nil)
	}, []string{"effects", "effects-uncertain"}},
	{"effects: the lease is lost", func(w *world) {
		m := w.planned("own")
		w.run(m, func() {
			w.clock.Advance(w.ledger.Settings().ClaimTTL)
			w.takeOver(m)
		})
	}, []string{"effects", "effects-uncertain"}},
	{"effects: the outcome cannot be recorded", func(w *world) {
		m := w.planned("own")
		w.run(m, func() { w.malform(ledger.EffectPath(m.Operation, m.Effect)) })
	}, []string{"effects", "effects-uncertain"}},
	{"effects: the store is down", func(w *world) {
		m := w.planned("own")
		w.storeDown()
		w.run(m, nil)
	}, []string{"effects", "ledger-errors"}},
	{"effects: no handler has the name", func(w *world) {
		w.effects = append(w.effects, spec.Spec{Name: "later", Do: &effectlog.Do{}, On: ends})
		w.openLedger()
		m := w.planned("later")
		w.effects = w.effects[:len(w.effects)-1]
		w.run(m, nil)
	}, []string{"effects", "effects-unknown"}},
	{"effects: it was never planned", func(w *world) {
		w.run(ledger.Message{Operation: "batches/a", Effect: "never", Attempt: 1}, nil)
	}, []string{"effects"}},
	{"effects: a canary's message", func(w *world) {
		w.run(ledger.Message{Operation: "batches/opledger-canary-1", Effect: "own", Attempt: 1}, nil)
	}, nil},
	{"effects: an effect of a registered operation that is named like a canary's", func(w *world) {
		name := w.registered(w.named("batches/opledger-canary-1"))
		w.end(name, operation.Expired)
		w.run(w.message("own"), nil)
	}, []string{"effects"}},
	{"effects: a message that names no effect", func(w *world) {
		w.post(w.runs(false, nil), http.Header{}, push(`{"operation":"batches/a"}`))
	}, []string{"effects", "effects-malformed"}},
	{"effects: paused", func(w *world) {
		w.post(w.runs(true, nil), http.Header{}, push(`{"operation":"batches/a","effect":"own","attempt":1}`))
	}, []string{"effects"}},
	{"effects: an operator reruns one", func(w *world) {
		m := w.planned("own")
		w.run(m, nil)
		w.forget()
		w.run(ledger.Message{Operation: m.Operation, Effect: "own", Rerun: "again", By: "ops"}, nil)
	}, []string{"effects"}},
	{"effects: an alert by an effect", func(w *world) { // counted in the log of reconcile
		if _, err := w.ledger.Passes.AlertAbout(w.Context(), "webhooks/1", ledger.AlertDisabled, w.clock.Now(),
			"it is disabled"); err != nil {
			w.Fatal(err)
		}
		w.run(w.message("note"), nil)
	}, []string{"effects"}},
}
