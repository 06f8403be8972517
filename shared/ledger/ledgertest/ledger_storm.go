package ledgertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A weather is what a storm's callers share: a random seed, and what they were promised.
type weather struct {
	*world
	mu     sync.Mutex
	random *rand.Rand
	fences map[operation.Key][]int64 // of every granted claim
	done   map[operation.Key]int     // how many workers' Finish succeeded
	said   chan struct{}             // closed when senders and submitters are done
}

const stormOperations = 6

// storm runs senders, submitters, reconciliation and workers on several operations at once, on a
// store where a third of all commits fail in one way or another and workers die and fail. Of every
// second operation the submitter records the intent and dies before it registers. In the end every
// operation has succeeded, and every effect was done exactly once.
func storm(w *world) {
	seed := rand.Uint64()
	w.Logf("the storm's seed: %d", seed)
	w.jitter = nil
	w.settings.MaxAttempts = 10_000
	s := &weather{
		world: w, random: rand.New(rand.NewPCG(seed, 0)), fences: map[operation.Key][]int64{}, done: map[operation.Key]int{},
		said: make(chan struct{}),
	}
	store := InjectFunc(w.store, func() Fault {
		if s.float() < 0.65 {
			return None
		}
		return Fault(1 + int(s.float()*4))
	})
	var names []operation.Name
	for i := range stormOperations {
		names = append(names, nameOf(w, fmt.Sprint("batches/storm-", i)))
	}
	var callers, workers sync.WaitGroup
	for _, name := range names {
		for range 2 {
			callers.Go(func() { s.send(w.over(store), name) })
		}
		callers.Go(func() { s.submit(w.over(store), name) })
	}
	for range 3 {
		workers.Go(func() { s.work(w.over(store), names) })
	}
	callers.Wait()
	close(s.said)
	workers.Wait()

	for _, name := range names {
		w.name = name
		rec, effect := w.record(), w.effect(publish)
		equal(w, "state", rec.State, operation.Succeeded)
		equal(w, "the effect in the record", rec.Effects[publish], operation.EffectDone)
		equal(w, "the effect", effect.State, ledger.EffectDone)
		equal(w, "the extra write", read[note](w, extraWriteOf(name.Key)).Text, "once")
		if s.done[name.Key] > 1 {
			w.Errorf("%d workers finished %s", s.done[name.Key], name.Key)
		}
		fences := slices.Clone(s.fences[name.Key])
		slices.Sort(fences)
		if len(slices.Compact(slices.Clone(fences))) != len(fences) {
			w.Errorf("two claims of %s were granted with one fence: %v", name.Key, fences)
		}
		equal(w, "applied ends", count(w.show().Deliveries, func(d ledger.Delivery) bool {
			return d.Outcome == ledger.Applied && d.State.Terminal()
		}), 1)
	}
}

// intentOf returns the correlation id of an operation that is never registered, or "".
func intentOf(name operation.Name) string {
	if n := name.Resource[len(name.Resource)-1]; n%2 == 0 {
		return ""
	}
	return "intent of " + name.Resource
}

func extraWriteOf(key operation.Key) ledger.Path {
	return ledger.OperationPath(key).Child("items", "outcome")
}

func (s *weather) float() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.Float64()
}

// redo calls do until it returns no error, as senders do; an unexpected error ends
// the test.
func (s *weather) redo(what string, do func() error) {
	for range 1000 {
		err := do()
		if err == nil {
			return
		}
		if !errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrContention) {
			s.Errorf("%s: %v", what, err)
			return
		}
	}
	s.Errorf("%s: a thousand times in vain", what)
}

// send ingests everything that the webhook and reconciliation report about an operation, in any
// order and some of it twice.
func (s *weather) send(l *ledger.Ledger, name operation.Name) {
	var events []operation.Event
	states := []operation.State{operation.Running, operation.Succeeded, operation.Succeeded, operation.Failed}
	for i, state := range states {
		e := s.event(fmt.Sprint("d-", i%3, state), state, time.Second)
		if e.Name, e.CorrelationID = name, intentOf(name); state == operation.Failed {
			e.State = operation.Running // a late one, with a delivery of its own
			e.UpdateTime = e.UpdateTime.Add(time.Hour)
		}
		events = append(events, e)
	}
	look := s.lookup(operation.Succeeded, time.Second)
	look.Name, look.CorrelationID = name, intentOf(name)
	events = append(events, look, events[1])
	s.mu.Lock()
	s.random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	s.mu.Unlock()
	for _, e := range events {
		s.redo("Ingest", func() error { _, err := l.Operations.Ingest(s.ctx, e); return err })
	}
}

func (s *weather) submit(l *ledger.Ledger, name operation.Name) {
	if id := intentOf(name); id != "" {
		s.redo("Intend", func() error {
			_, err := l.Intents.Intend(s.ctx, ledger.Intention{Submission: operation.Submission{CorrelationID: id}})
			return err
		})
		return
	}
	s.redo("Register", func() error {
		_, err := l.Operations.Register(s.ctx, ledger.Registration{Name: name, SubmittedAt: s.start})
		return err
	})
}

// work claims what it can until every effect is done. Of three claims one is dropped, as by a
// worker that dies, and one fails.
func (s *weather) work(l *ledger.Ledger, names []operation.Name) {
	open := slices.Clone(names)
	for rounds := 0; rounds < 2000; {
		wait := false
		open = slices.DeleteFunc(open, func(name operation.Name) bool {
			verdict := s.try(l, name.Key)
			wait = wait || verdict == ledger.Held || verdict == ledger.BackingOff
			return verdict == ledger.Done
		})
		if len(open) == 0 {
			return
		}
		if wait { // the leases of dead workers run out
			s.store.Advance(s.settings.ClaimTTL / 10)
		}
		select {
		case <-s.said:
			rounds++
		default: // there may be nothing to do yet
			runtime.Gosched()
		}
	}
	s.Errorf("the effects of %v are not done, however often they were tried", open)
}

// try is one attempt at one effect. It returns the verdict on its claim, or none where that has no
// answer.
func (s *weather) try(l *ledger.Ledger, key operation.Key) ledger.Verdict {
	grant, err := l.Effects.Claim(s.ctx, key, publish)
	if err != nil || grant.Verdict != ledger.Claimed {
		return grant.Verdict
	}
	s.mu.Lock()
	s.fences[key] = append(s.fences[key], grant.Lease.Fence)
	s.mu.Unlock()
	switch luck := s.float(); {
	case luck < 0.33:
	case luck < 0.66:
		_, err = l.Effects.Release(s.ctx, grant.Lease, errFailed, 0)
	default:
		if err = l.Effects.Finish(s.ctx, grant.Lease,
			ledger.Write{Path: extraWriteOf(key), Data: note{Text: "once"}}); err == nil {
			s.mu.Lock()
			s.done[key]++
			s.mu.Unlock()
		}
	}
	if err != nil && !errors.Is(err, ledger.ErrLeaseLost) && !errors.Is(err, ledger.ErrUnavailable) &&
		!errors.Is(err, ledger.ErrContention) {
		s.Errorf("with a lease of %s: %v", key, err)
	}
	return grant.Verdict
}
