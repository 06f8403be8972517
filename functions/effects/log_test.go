package effects_test

import (
	"context"
	"testing"
	"time"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
)

// TestCounted: every message is one line with an outcome to count, and a death is one alert [S9].
func TestCounted(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		m := ledger.Message{Operation: "batches/0000", Effect: "publish", Attempt: 1}
		var result error
		lose := false
		f := effects.New(effects.Options{
			Runner: effect.NewRunner(w.ledger, map[string]effect.Handler{
				"publish": effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
					if lose { // as if another worker had seized and released it
						if _, err := w.ledger.Effects.Release(ctx, task.Lease, errTarget, 0); err != nil {
							w.Error(err)
						}
					}
					return nil, result
				}),
			}),
			Now: time.Now, Log: logging.New(&w.log, ""),
		})
		run := func(want effect.Outcome, reason string, alerts ...string) {
			w.Helper()
			report, err := f.Run(w.Context(), m)
			if err != nil || report.Outcome != want {
				w.Fatalf("%+v %v, want %s", report, err, want)
			}
			lines := w.log.Drain(w)
			if len(lines) != 1+len(alerts) || lines[0]["event"] != "effect" || lines[0]["outcome"] != string(want) ||
				lines[0]["reason"] != reason {
				w.Errorf("logged %v, want %s %s", lines, want, reason)
				return
			}
			uncertain := want == effect.LeaseLost || reason == "seized"
			if got, logged := lines[0]["uncertain"]; logged != uncertain || uncertain && got != true {
				w.Errorf("R8: logged %v, uncertain: want %v", lines[0], uncertain)
			}
			if _, fails := lines[0]["failing_since"]; fails != (want == effect.Failed || want == effect.Died) {
				w.Errorf("logged %v, failing since: want %v", lines[0], !fails)
			}
			for i, alert := range alerts {
				if line := lines[1+i]; line["event"] != "alert" || line["reason"] != alert || line["effect"] != "publish" ||
					line["error"] == nil {
					w.Errorf("logged %v, want an alert %s", line, alert)
				}
			}
		}
		if grant, err := w.ledger.Effects.Claim(w.Context(), m.Operation,
			m.Effect); err != nil || grant.Verdict != ledger.Claimed {
			w.Fatalf("%+v %v", grant, err)
		}
		run(effect.Held, "held")
		time.Sleep(w.settings.ClaimTTL)
		result = errTarget
		run(effect.Failed, "seized")
		run(effect.Early, "backing-off")
		time.Sleep(w.settings.ClaimTTL)
		result, lose = nil, true
		run(effect.LeaseLost, "claimed")
		time.Sleep(w.settings.ClaimTTL)
		result, lose = effect.Permanent(errTarget), false
		run(effect.Died, "claimed", "dead-effect")
		run(effect.Skipped, "dead")
	})
}

// TestFailsSinceItsOnlyAttempt: an effect that dies by its first attempt has been failing since then.
func TestFailsSinceItsOnlyAttempt(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		f := effects.New(effects.Options{
			Runner: effect.NewRunner(w.ledger, map[string]effect.Handler{
				"publish": effect.HandlerFunc(func(context.Context, effect.Task) ([]ledger.Write, error) {
					return nil, effect.Permanent(errTarget)
				}),
			}),
			Now: time.Now, Log: logging.New(&w.log, ""),
		})
		if report, err := f.Run(w.Context(), first("batches/0000")); err != nil || report.Outcome != effect.Died {
			w.Fatalf("%+v %v", report, err)
		}
		now := time.Now().UTC().Format(time.RFC3339)
		if line := w.log.Drain(w)[0]; line["outcome"] != "dead" || line["failing_since"] != now {
			w.Errorf("logged %v, want that it fails since %s", line, now)
		}
	})
}

// TestCanary: a message that does nothing about what a canary made up is logged under an event of its
// own, which no signal counts. An effect of an operation of such a name is an effect.
func TestCanary(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		const key operation.Key = "batches/" + operation.CanaryPrefix + "1"
		f := w.revision(false, "publish")
		run := func(event string, outcome effect.Outcome) {
			w.Helper()
			if _, err := f.Run(w.Context(), first(key)); err != nil {
				w.Fatal(err)
			}
			if got := w.lines(); len(got) != 1 || got[event+" "+string(outcome)] != 1 {
				w.Errorf("logged %v, want %s %s", got, event, outcome)
			}
		}
		run("canary", effect.Skipped)
		name := operation.Name{Key: key, Resource: string(key)}
		if _, err := w.ledger.Operations.Register(w.Context(), ledger.Registration{Name: name}); err != nil {
			w.Fatal(err)
		}
		if _, err := w.ledger.Operations.Ingest(w.Context(), operation.Event{
			Name: name, DeliveryID: "m", Source: operation.Webhook, State: operation.Succeeded,
		}); err != nil {
			w.Fatal(err)
		}
		run("effect", effect.Finished)
	})
}
