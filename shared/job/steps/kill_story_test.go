package steps_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/steps"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A story is a small job whose processes are killed.
type story struct {
	name    string
	sim     geminisim.Config
	held    bool // act ends the batches
	options job.Options
	prepare func(*world)
	twins   int // batches whose result is not collected
	// act does what the test itself is to do, between the steps, and reports whether it did anything.
	act func(*world) (any bool)
}

// stories have every step of a job. Its input is split into two parts, and some requests are in a second round.
// In one an operator cancels the job in that round, in one a batch is refused as a whole and cut into pieces,
// and in one an operator releases a batch that runs on.
func stories() []story {
	return []story{
		{
			name: "cancelled",
			sim:  geminisim.Config{Seed: 7, Speed: 1e6}, held: true,
			options: job.Options{MaxAttempts: 3, MaxRequestsPerBatch: 3},
			prepare: func(w *world) {
				script := func(part int, faults geminisim.Faults) {
					w.sim.Script("opledger:"+string(operation.PartKey(nightly, part)), geminisim.Script{
						Hold: geminisim.StateRunning, Faults: &faults,
					})
				}
				script(1, geminisim.Faults{MissingLines: 1})
				script(2, geminisim.Faults{MissingLines: 0.2, ItemErrors: 0.2, DoubledLines: 0.5})
				script(3, geminisim.Faults{PartialCancelled: 1})
				script(4, geminisim.Faults{}) // where the two of the first round did not end together
			},
			act: (*world).endOrCancel,
		},
		{
			name: "poisoned",
			sim: geminisim.Config{
				Seed: 7, Poison: "About k0002", Faults: geminisim.Faults{MissingLines: 0.3, DoubledLines: 0.3, RefusedItems: 0.1},
			},
			options: job.Options{MaxAttempts: 2, MaxRequestsPerBatch: 3},
			prepare: func(*world) {}, act: func(*world) bool { return false },
		},
		{
			name: "released",
			sim:  geminisim.Config{Seed: 7, Speed: 1e6}, held: true, twins: 1,
			options: job.Options{MaxAttempts: 2, MaxRequestsPerBatch: 3},
			prepare: func(w *world) {
				w.sim.ScriptPrefix("opledger:jobs/", geminisim.Script{
					Hold: geminisim.StateRunning, Faults: &geminisim.Faults{CancelsIgnored: 1},
				})
			},
			act: (*world).endOrRelease,
		},
	}
}

// endOrCancel ends the batches of the first round, and has an operator cancel the job once Gemini has a batch
// of the second.
func (w *world) endOrCancel() (any bool) {
	w.Helper()
	ended := 0
	for _, b := range w.sim.Batches() {
		_, part, _ := operation.ParsePart(strings.TrimPrefix(b.DisplayName, "opledger:"))
		switch {
		case !b.EndTime.IsZero():
			ended++
			continue
		case part <= 2:
			if err := w.sim.SetState(b.Name, geminisim.StateSucceeded); err != nil {
				w.Fatal(err)
			}
			ended++
		case w.killer.has("POST /v1beta/" + b.Name + ":cancel"):
			w.ends(func(s geminisim.Stats) bool { return s.Settled > ended })
			ended++
		case w.job().Cancelled == nil:
			w.process("cancel", func(ctx context.Context) error {
				_, err := w.options.Ledger.Jobs.Cancel(ctx, nightly, ledger.Decision{By: operator, Why: "a wrong prompt"})
				return err
			})
		default:
			continue
		}
		any = true
	}
	return any
}

// endOrRelease has an operator release the first part once Gemini has its batch. All batches succeed, also
// that one, which runs on.
func (w *world) endOrRelease() (any bool) {
	w.Helper()
	for _, b := range w.sim.Batches() {
		if !b.EndTime.IsZero() {
			continue
		}
		if p := w.part(1); b.DisplayName == "opledger:"+string(first) && p.Released == nil {
			released := true
			w.process("release", func(ctx context.Context) error {
				_, err := w.options.Ledger.Jobs.Release(ctx, first, stuck)
				if errors.Is(err, ledger.ErrNotRunning) { // the operator tries it once more later
					released, err = false, nil
				}
				return err
			})
			any = any || released
			continue
		}
		any = true
		if err := w.sim.SetState(b.Name, geminisim.StateSucceeded); err != nil {
			w.Fatal(err)
		}
	}
	return any
}

// inStory returns a world with the story's job, whose processes end as k says.
func inStory(t *testing.T, s story, k *killer, firestore bool) *world {
	t.Helper()
	w := newWorld(t, setting{
		sim: s.sim, held: s.held, firestore: firestore, killer: k,
		options: func(o steps.Options) steps.Options { return o.InChunks(1).WithParts(job.MostParts, 1) },
	})
	s.prepare(w)
	w.submit(requests(6), s.options)
	return w
}

// live lets everything happen until the job has ended and no effect is open, its last step among them.
func (w *world) live(s story) {
	w.Helper()
	for range 500 {
		w.drain()
		if w.atRest() {
			return
		}
		if !s.act(w) && !w.learn() {
			w.later(interval)
		}
	}
	w.Fatalf("the job has not ended: %+v", w.job())
}

func (w *world) atRest() bool {
	w.Helper()
	keys := []operation.Key{nightly}
	for _, b := range w.sim.Batches() {
		keys = append(keys, operation.Key(b.Name))
	}
	for _, key := range keys {
		rec, err := w.ledger.Operations.Read(w.Context(), key)
		if errors.Is(err, ledger.ErrNotFound) || err == nil && !rec.Settled() {
			return false
		}
		if err != nil {
			w.Fatal(err)
		}
	}
	open, err := w.ledger.Effects.CountOpen(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return open.N == 0
}
