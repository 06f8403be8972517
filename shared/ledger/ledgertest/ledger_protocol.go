package ledgertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// ledgerProtocol run the whole protocol, from the registration to the effect's outcome, on a store
// that fails. Whatever fails, the story must end the same.
var ledgerProtocol = append(append(stories("registration", (*world).tell), stories("intent", (*world).tellIntent)...),
	ledgerTest{"every call concurrently, with every fault [M6, S3, S4, S6]", storm},
)

// stories returns one test for each fault and for how often it strikes: every second commit, or
// every third.
func stories(from string, tell func(*world, *ledger.Ledger)) []ledgerTest {
	var tests []ledgerTest
	for _, fault := range []Fault{None, FailBefore, LoseAnswer, Abort, RepeatItself} {
		for _, every := range []int{2, 3} {
			name := fmt.Sprintf("from %s to outcome, with every commit of %d to %s", from, every, fault)
			if fault == None {
				if name = "from " + from + " to outcome"; every != 2 {
					continue
				}
			}
			tests = append(tests, ledgerTest{name, func(w *world) {
				commits := 0
				tell(w, w.over(InjectFunc(w.store, func() Fault {
					if commits++; commits%every == 0 {
						return fault
					}
					return None
				})))
			}})
		}
	}
	return tests
}

// stubbornly retries do as real callers would: senders redeliver, and so do Pub/Sub and the
// scheduler.
func (w *world) stubbornly(what string, do func() error) {
	w.Helper()
	var err error
	for range 20 {
		if err = do(); !errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrContention) {
			break
		}
	}
	if err != nil {
		w.Fatalf("%s: %v", what, err)
	}
}

// tell runs one operation's story with l: a webhook and a look-up report the end, other events are
// late or wrong, one worker fails, one dies, and one succeeds.
func (w *world) tell(l *ledger.Ledger) {
	w.stubbornly("Register", func() error { _, err := l.Operations.Register(w.ctx, w.correlated("c-1")); return err })
	ingest := func(e operation.Event) (r ledger.Receipt) {
		w.stubbornly("Ingest "+e.DeliveryID, func() (err error) { r, err = l.Operations.Ingest(w.ctx, e); return err })
		return r
	}
	claim := func() (g ledger.Grant) {
		w.stubbornly("Claim", func() (err error) { g, err = l.Effects.Claim(w.ctx, w.name.Key, publish); return err })
		return g
	}

	equal(w, "running", ingest(w.event("d1", operation.Running, time.Second)).Outcome, ledger.Applied)
	due, now := w.pass()
	if _, err := l.Passes.ClaimLookUp(w.ctx, due, now); err != nil {
		w.Logf("the pass leaves the operation alone and goes on: %v", err)
	}
	end := ingest(w.renamed("d2", "c-1"))
	equal(w, "the end", end.Outcome, ledger.Applied)
	equal(w, "planned", end.Planned, 1)
	w.published(publish)
	equal(w, "the end again", ingest(w.renamed("d2", "c-1")).Outcome, ledger.Duplicate)
	equal(w, "the look-up", ingest(w.lookup(operation.Succeeded, time.Second)).Outcome, ledger.Dropped)
	equal(w, "another end", ingest(w.event("d3", operation.Failed, time.Hour)).Outcome, ledger.Conflict)
	equal(w, "a late report", ingest(w.event("d4", operation.Running, time.Hour)).Outcome, ledger.Dropped)

	first := claim()
	equal(w, "the first worker", first.Verdict, ledger.Claimed)
	w.stubbornly("Extend", func() error { return l.Effects.Extend(w.ctx, first.Lease) })
	equal(w, "a second one meanwhile", claim().Verdict, ledger.Held)
	w.stubbornly("Release",
		func() error { _, err := l.Effects.Release(w.ctx, first.Lease, errFailed, time.Hour); return err })
	equal(w, "too early", claim().Verdict, ledger.BackingOff)
	w.store.Advance(time.Hour)
	second := claim()
	equal(w, "the second worker", second.Verdict, ledger.Claimed)
	w.store.Advance(w.settings.ClaimTTL + time.Second)
	third := claim()
	equal(w, "the third worker", third.Verdict, ledger.Claimed)
	if third.Lease.Fence != 3 || third.Lease.Attempt != 3 || !third.Lease.Seized {
		w.Errorf("the third lease: %+v", third.Lease)
	}
	if err := l.Effects.Finish(w.ctx, second.Lease); !errors.Is(err, ledger.ErrLeaseLost) {
		w.Errorf("the second worker wakes up and finishes: %v, want ErrLeaseLost", err)
	}
	w.stubbornly("Finish", func() error {
		return l.Effects.Finish(w.ctx, third.Lease, ledger.Write{Path: pathC, Data: note{Text: "once"}})
	})
	equal(w, "afterwards", claim().Verdict, ledger.Done)

	rec := w.record()
	equal(w, "state", rec.State, operation.Succeeded)
	equal(w, "the effect in the record", rec.Effects[publish], operation.EffectDone)
	w.lives("closed", false, w.settings.Retention)
	equal(w, "the effect", w.effect(publish).State, ledger.EffectDone)
	equal(w, "the extra write", read[note](w, pathC).Text, "once")
	equal(w, "deliveries", len(w.show().Deliveries), 4)
	w.published()
}
