package simulation

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// age is what happens to a world that is at rest: the retention passes, and then passes again.
// Around each end of it the store deletes what has expired, late and in any order. Meanwhile there
// are faults again, and what is past comes again: events, messages, submitters [L3].
func (w *World) age() {
	w.gate.event("an operator waives what is DEAD, or leaves it", func() {
		w.check.end()
		l := w.before()
		for _, e := range w.dead() {
			if w.decides(2) == 0 {
				must(l.Effects.Waive(context.Background(), e.Operation, e.Name, ledger.Decision{Why: "not needed"}))
			}
		}
	})
	for round := range 2 {
		var wait time.Duration
		w.gate.event("the retention passes", func() { wait = w.untilExpiry() })
		time.Sleep(wait)
		w.gate.event("the faults begin again", func() {
			w.gate.calm = false
			w.comeAgain(round == 0)
			w.expire()
		})
		time.Sleep(ageing)
		w.gate.event("the faults end again", func() { w.gate.calm = true })
		w.rest()
	}
}

// ageing is longer than all of it takes that begins around an expiry.
const ageing = 6 * 24 * time.Hour

// decides makes a choice of the plan, also where there are no faults.
func (w *World) decides(n int) int {
	calm := w.gate.calm
	w.gate.calm = false
	defer func() { w.gate.calm = calm }()
	return w.gate.choose(Plan, n)
}

// later is a time around an expiry.
func (w *World) later() time.Duration {
	times := []time.Duration{0, time.Hour + 3*time.Second, 25*time.Hour + 5*time.Second, 71*time.Hour + 7*time.Second}
	return times[w.gate.choose(Plan, len(times))]
}

// untilExpiry returns how long it is until an hour before the next document expires, or the
// retention where none does.
func (w *World) untilExpiry() time.Duration {
	soonest := w.store.now().Add(w.settings.Retention)
	for _, d := range w.store.documents {
		if at := d.times.ExpireAt; !at.IsZero() && at.Before(soonest) {
			soonest = at
		}
	}
	return max(soonest.Sub(w.store.now())-time.Hour, 0)
}

// expire plans the deletion of all that expires meanwhile.
func (w *World) expire() {
	for _, path := range slices.Sorted(maps.Keys(w.store.documents)) {
		at := w.store.documents[path].times.ExpireAt
		if until := at.Sub(w.store.now()); !at.IsZero() && until < ageing/2 {
			until += w.later()
			w.gate.spawn(func() {
				time.Sleep(until)
				w.gate.event("the store deletes "+short(path), func() { w.store.expire(path) })
			})
		}
	}
}

// comeAgain plans what comes again: each event, a message for each effect, submitters, and passes. An
// intent is remembered for twice the retention, and so long its submitter may come again.
func (w *World) comeAgain(intents bool) {
	for _, e := range w.gemini.announced {
		w.at(w.later(), func() { w.deliver(e, 1) })
	}
	for _, path := range slices.Sorted(maps.Keys(w.store.documents)) {
		if e, ok := w.store.documents[path].data.(ledger.Effect); ok {
			w.at(w.later(), func() {
				w.gate.event("the topic delivers again: "+short(path), func() {
					w.accept(ledger.Message{Operation: e.Operation, Effect: e.Name, Attempt: 1}, 1)
				})
			})
		}
	}
	for _, o := range w.orders {
		if intents || !o.intent {
			w.at(w.later(), func() { w.submit(o) })
		}
	}
	// A pass reads of Gemini's list the last days alone, so that without passes an operation is missed.
	for after := time.Duration(0); after < ageing; after += 12 * time.Hour {
		w.at(after+11*time.Second, w.pass)
	}
}

// at runs something of the world after a while.
func (w *World) at(after time.Duration, work func()) {
	w.gate.spawn(func() {
		time.Sleep(after)
		work()
	})
}

// expire deletes a document whose time is over, as a TTL policy does, and nothing for a
// day after the clock has leapt.
func (s *store) expire(path ledger.Path) {
	d := s.documents[path]
	now, leapt := s.clock.look()
	if d == nil || d.times.ExpireAt.IsZero() || now.Before(d.times.ExpireAt) || s.flaw.still(now, leapt) {
		return
	}
	s.check.expires(s, d)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.documents, path)
	s.check.expired[path] = true
}
