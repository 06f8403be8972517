package effects_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
)

// TestCounted: whatever becomes of a message is one line with a word to count by; a death is told aloud once [S9].
func TestCounted(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		m := ledger.Message{Operation: "batches/0000", Effect: "publish", Attempt: 1}
		var result error
		lose := false
		f := effects.New(effects.Options{
			Runner: effect.NewRunner(w.ledger, map[string]effect.Handler{
				"publish": effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
					if lose { // as if somebody had seized it, and given it back
						if _, err := w.ledger.Release(ctx, task.Lease, errTarget, 0); err != nil {
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
			if len(lines) != 1+len(alerts) || lines[0]["event"] != "effect" || lines[0]["outcome"] != string(want) || lines[0]["reason"] != reason {
				w.Errorf("logged %v, want %s %s", lines, want, reason)
				return
			}
			uncertain := want == effect.LeaseLost || reason == "seized"
			if got, said := lines[0]["uncertain"]; said != uncertain || uncertain && got != true {
				w.Errorf("R8: logged %v, uncertain: want %v", lines[0], uncertain)
			}
			for i, alert := range alerts {
				if line := lines[1+i]; line["event"] != "alert" || line["reason"] != alert || line["effect"] != "publish" || line["error"] == nil {
					w.Errorf("logged %v, want an alert %s", line, alert)
				}
			}
		}
		if grant, err := w.ledger.Claim(w.Context(), m.Operation, m.Effect); err != nil || grant.Verdict != ledger.Claimed {
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

// TestResultsLostAlerts: an effect whose results Gemini no longer has is told aloud under a reason of its own.
func TestResultsLostAlerts(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		lost := effect.HandlerFunc(func(context.Context, effect.Task) ([]ledger.Write, error) {
			return nil, effect.Permanent(fmt.Errorf("%w: 404", results.ErrLost))
		})
		f := effects.New(effects.Options{
			Runner: effect.NewRunner(w.ledger, map[string]effect.Handler{"publish": lost}), Now: time.Now, Log: logging.New(&w.log, ""),
		})
		if again, got := w.deliver(f); again != 0 || got[effect.Died] != 1 {
			w.Errorf("%d again, %v", again, got)
		}
		if got := w.lines(); got["effect dead"] != 1 || got["alert results-lost"] != 1 || got["alert dead-effect"] != 0 {
			w.Errorf("logged %v", got)
		}
	})
}

// TestCrashAlerts: an effect that dies because its attempts end with their process is told like any other that is given up.
func TestCrashAlerts(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		for range 3 * w.settings.MaxAttempts {
			if _, err := w.ledger.Claim(w.Context(), "batches/0000", "publish"); err != nil {
				w.Fatal(err)
			}
			time.Sleep(w.settings.ClaimTTL)
		}
		if again, got := w.deliver(w.revision(false, "publish")); again != 0 || got[effect.Died] != 1 {
			w.Errorf("%d again, %v", again, got)
		}
		if got := w.lines(); got["effect dead"] != 1 || got["alert dead-effect"] != 1 || len(w.ran) != 0 {
			w.Errorf("logged %v, performed %v", got, w.ran)
		}
	})
}

// TestFailingIsTold: every failure logs since when the effect fails; past an hour an alert says so, once, long before the effect
// is given up [S4, S9].
func TestFailingIsTold(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		began := time.Now().UTC().Format(time.RFC3339)
		refuses := effect.HandlerFunc(func(context.Context, effect.Task) ([]ledger.Write, error) { return nil, errTarget })
		f := effects.New(effects.Options{
			Runner: effect.NewRunner(w.ledger, map[string]effect.Handler{"publish": refuses}), Now: time.Now, Log: logging.New(&w.log, ""),
		})
		var report effect.Report
		for report.Outcome != effect.Died {
			var err error
			time.Sleep(report.RetryAfter)
			if report, err = f.Run(w.Context(), first("batches/0000")); err != nil {
				w.Fatal(err)
			}
		}
		var told []string
		for _, line := range w.log.Drain(w) {
			if line["event"] == "alert" {
				told = append(told, fmt.Sprint(line["severity"], " ", line["reason"]))
			}
			if line["reason"] != "dead-effect" && line["failing_since"] != began {
				w.Errorf("logged %v, failing since %s", line, began)
			}
		}
		if want := []string{"WARNING failing-effect", "ERROR dead-effect"}; !slices.Equal(told, want) {
			w.Errorf("alerts %v, want %v", told, want)
		}
	})
}

// TestCustom: the team's own handler runs through the function like any other, by the name of its effect: its documents are
// written with the outcome, its errors are tried again.
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
		specs, err := effect.ParseSpecs([]byte("[{name: own, on: [SUCCEEDED], do: custom}]"), operation.Transitions{})
		if err != nil {
			w.Fatal(err)
		}
		custom, err := effects.Custom(w.Context(), logging.New(&w.log, ""))
		if err != nil {
			w.Fatal(err)
		}
		custom["own"] = own
		handlers, err := cloud.Handlers(w.Context(), specs, config.Handlers{}, effect.HandlerOptions{Custom: custom, Now: time.Now})
		if err != nil {
			w.Fatal(err)
		}
		f := effects.New(effects.Options{Runner: effect.NewRunner(w.ledger, handlers), Now: time.Now, Log: logging.New(&w.log, "")})
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
		if err = errors.Join(err, snapshot.Documents[0].Decode(&written)); err != nil || written.Key != "gemini:batches/0000#own" {
			w.Errorf("%+v %v", written, err)
		}
	})
}
