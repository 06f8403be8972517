package steps_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job/steps"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// process lets a process do something, and reports whether it lives. Where it was killed its leases end, and another
// takes its place.
func (w *world) process(doing string, work func(context.Context) error) (lives bool) {
	w.Helper()
	ctx := w.Context()
	if w.killer != nil {
		ctx = w.killer.begin(ctx, doing)
	}
	err := work(ctx)
	if w.killer != nil && w.killer.alive() != nil {
		w.clock.Advance(lease)
		w.begin()
		return false
	}
	if err != nil && !w.killer.failed("") {
		w.Fatal(err)
	}
	return true
}

// run handles one message, as one process of several does.
func (w *world) run(ctx context.Context, o steps.Options, m ledger.Message) (effect.Report, error) {
	handlers := steps.Handlers(o)
	handlers["publish"] = effect.HandlerFunc(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		return nil, w.killer.point("effect", true, func() error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.effects[task.Operation]++
			return nil
		})
	})
	report, err := effect.NewRunner(o.Ledger, handlers).Run(ctx, m)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reports = append(w.reports, report)
	return report, err
}

// drain runs what is published, until nothing is.
func (w *world) drain() {
	w.Helper()
	for messages := w.outbox.Drain(); len(messages) > 0; messages = w.outbox.Drain() {
		if w.killer != nil { // each run makes the same calls, as far as can be
			slices.SortFunc(messages, func(a, b ledger.Message) int {
				return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Effect, b.Effect))
			})
		}
		for _, m := range messages {
			if !w.process(m.Effect, func(ctx context.Context) error { return w.handle(ctx, m) }) {
				w.lost[m.Effect]++
				break // what else it had received is lost with it
			}
		}
	}
}

// handle runs one message, which must not fail but as a report says.
func (w *world) handle(ctx context.Context, m ledger.Message) error {
	report, err := w.run(ctx, w.options, m)
	if report.Cause != nil && strings.Contains(report.Cause.Error(), "panicked") {
		w.Errorf("%s of %s: %v", m.Effect, m.Operation, report.Cause)
	}
	if err = errors.Join(err, report.FollowErr); err != nil {
		return fmt.Errorf("%s of %s: %w", m.Effect, m.Operation, err)
	}
	return nil
}

// learn reports the batches that have ended since the last call, as deliveries do.
func (w *world) learn() (any bool) {
	w.Helper()
	if !w.held {
		w.ends(func(s geminisim.Stats) bool { return s.Settled == s.Created })
	}
	for _, b := range w.sim.Batches() {
		if b.EndTime.IsZero() || w.learned[b.Name] {
			continue
		}
		settled := false
		w.process("look-up", func(ctx context.Context) error {
			_, receipt, err := w.passes.One(ctx, operation.Key(b.Name))
			if errors.Is(err, ledger.ErrNotFound) {
				err = nil // a pass will find it
			}
			settled = receipt.Settled
			return err
		})
		if settled {
			w.learned[b.Name], any = true, true
		}
	}
	return any
}

// ends waits for ends of batches at Gemini.
func (w *world) ends(enough func(geminisim.Stats) bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	if err := w.sim.WaitFor(ctx, enough); err != nil {
		w.Fatal(err)
	}
}

// later lets time pass, and makes a pass.
func (w *world) later(d time.Duration) {
	w.Helper()
	w.clock.Advance(d)
	w.process("pass", func(ctx context.Context) error {
		_, err := w.passes.Pass(ctx)
		return err
	})
	w.drain()
}

// settle lets everything happen until the job has ended and nothing is left to do.
func (w *world) settle() operation.Record {
	w.Helper()
	for range 500 {
		w.drain()
		if rec := w.record(nightly); rec.Settled() && rec.Effects["publish"] == operation.EffectDone {
			return rec
		}
		if !w.learn() {
			w.later(interval)
		}
	}
	w.Fatalf("the job has not ended: %+v", w.job())
	panic("unreachable")
}
