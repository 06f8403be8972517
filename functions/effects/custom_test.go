package effects_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
)

// TestCustom: the team's own handler runs like any other, by the name of its effect. Its documents
// are written with the outcome, and its errors are retried.
func TestCustom(t *testing.T) {
	onLine(t, []string{"own"}, func(w *line) {
		w.plan(1)
		type note struct {
			Key string `json:"key" firestore:"key"`
		}
		path := ledger.EffectPath("batches/0000", "own").Child("documents", "note")
		failures := 1
		own := effect.HandlerFunc(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
			if failures > 0 {
				failures--
				return nil, errTarget
			}
			return []ledger.Write{{Path: path, Data: note{Key: task.IdempotencyKey}}}, nil
		})
		specs, err := kinds.ParseSpecs([]byte("[{name: own, on: [SUCCEEDED], do: custom}]"), operation.Transitions{})
		if err != nil {
			w.Fatal(err)
		}
		custom, err := effects.Custom(w.Context(), logging.New(&w.log, ""))
		if err != nil {
			w.Fatal(err)
		}
		custom["own"] = own
		handlers, err := cloud.Handlers(w.Context(), specs, config.Handlers{},
			kinds.Options{Custom: custom, Now: time.Now})
		if err != nil {
			w.Fatal(err)
		}
		f := effects.New(effects.Options{Runner: effect.NewRunner(w.ledger, handlers), Now: time.Now,
			Log: logging.New(&w.log, "")})
		m := ledger.Message{Operation: "batches/0000", Effect: "own", Attempt: 1}
		report, err := f.Run(w.Context(), m)
		if err != nil || report.Outcome != effect.Failed || !errors.Is(report.Cause, errTarget) {
			w.Fatalf("%+v %v", report, err)
		}
		time.Sleep(report.RetryAfter)
		for _, want := range []effect.Outcome{effect.Finished, effect.Skipped} {
			if report, err := f.Run(w.Context(), m); err != nil || report.Outcome != want {
				w.Fatalf("%+v %v, want %s", report, err, want)
			}
		}
		snapshot, err := w.store.Get(w.Context(), path)
		var written note
		if err = errors.Join(err, snapshot.Documents[0].Decode(&written)); err != nil ||
			written.Key != "gemini:batches/0000#own" {
			w.Errorf("%+v %v", written, err)
		}
	})
}
