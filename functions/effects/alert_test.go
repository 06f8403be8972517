package effects_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
)

// A notFound is the error of an attempt whose result Gemini says it does not have.
type notFound struct{ error }

func (notFound) ResultLost() bool { return true }

func (e notFound) Unwrap() error { return e.error }

// TestResultsLostAlerts: an effect whose results Gemini does not have for a day alerts under a reason
// of its own.
func TestResultsLostAlerts(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		lost := effect.HandlerFunc(func(context.Context, effect.Task) ([]ledger.Write, error) {
			return nil, notFound{results.ErrNotFound}
		})
		f := effects.New(effects.Options{
			Runner: effect.NewRunner(w.ledger, map[string]effect.Handler{"publish": lost}), Now: time.Now,
			Log: logging.New(&w.log, ""),
		})
		began, report := time.Now(), effect.Report{}
		for report.Outcome != effect.Died {
			var err error
			time.Sleep(report.RetryAfter)
			if report, err = f.Run(w.Context(), first("batches/0000")); err != nil {
				w.Fatal(err)
			}
		}
		if after := time.Since(began); after < 24*time.Hour || after > 26*time.Hour {
			w.Errorf("given up after %v", after)
		}
		lines := w.log.Drain(w)
		n := len(lines)
		if n < 3 || lines[n-2]["outcome"] != "dead" || lines[n-1]["reason"] != "results-lost" ||
			lines[0]["failing_since"] != began.UTC().Format(time.RFC3339) {
			w.Errorf("logged %v, want that it fails since the first attempt", lines)
		}
	})
}

// TestCrashAlerts: an effect that dies because its attempts end with their process alerts like any
// other dead effect.
func TestCrashAlerts(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		for range 3 * w.settings.MaxAttempts {
			if _, err := w.ledger.Effects.Claim(w.Context(), "batches/0000", "publish"); err != nil {
				w.Fatal(err)
			}
			time.Sleep(w.settings.ClaimTTL)
		}
		if again, got := w.deliver(w.revision(false, "publish")); again != 0 || got[effect.Died] != 1 {
			w.Errorf("%d again, %v", again, got)
		}
		lines := w.log.Drain(w)
		if len(lines) != 2 || lines[0]["outcome"] != "dead" || lines[1]["reason"] != "dead-effect" || len(w.ran) != 0 {
			w.Fatalf("logged %v, performed %v", lines, w.ran)
		}
		if since, ok := lines[0]["failing_since"]; ok {
			w.Errorf("no attempt failed, and it fails since %v", since)
		}
	})
}

// TestFailingAlerts: every failure is logged with the time since which the effect fails. After an
// hour an alert is logged, once, long before the effect dies [S4, S9].
func TestFailingAlerts(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		began := time.Now().UTC().Format(time.RFC3339)
		refuses := effect.HandlerFunc(func(context.Context, effect.Task) ([]ledger.Write, error) { return nil, errTarget })
		f := effects.New(effects.Options{
			Runner: effect.NewRunner(w.ledger, map[string]effect.Handler{"publish": refuses}), Now: time.Now,
			Log: logging.New(&w.log, ""),
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

// TestFailuresAreRedacted: no line about a failed or a dead effect has what a client of its handler
// said of its request, as in the ledger.
func TestFailuresAreRedacted(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		reasons := map[any]bool{}
		f := effects.New(effects.Options{
			Runner: effect.NewRunner(w.ledger, map[string]effect.Handler{
				"publish": effect.HandlerFunc(func(context.Context, effect.Task) ([]ledger.Write, error) {
					err := errors.New("dial amqp://guest:hunter2@mq/v; https://hooks.example/T0/hunter2: refused")
					if reasons["failing-effect"] {
						err = effect.Permanent(err)
					}
					return nil, err
				}),
			}),
			Now: time.Now, Log: logging.New(&w.log, ""),
		})
		for died := false; !died; time.Sleep(time.Hour) {
			report, err := f.Run(w.Context(), ledger.Message{Operation: "batches/0000", Effect: "publish", Attempt: 1})
			if err != nil {
				w.Fatal(err)
			}
			died = report.Outcome == effect.Died
			for _, logged := range w.log.Drain(w) {
				if said, ok := logged["error"]; ok {
					reasons[logged["reason"]] = true
					if said != "dial amqp://mq/v; https://hooks.example/[path]: refused" {
						w.Errorf("logged %v", logged)
					}
				}
			}
		}
		if !reasons["claimed"] || !reasons["failing-effect"] || !reasons["dead-effect"] {
			w.Errorf("it saw only lines with the reasons %v", reasons)
		}
	})
}
