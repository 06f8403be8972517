package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// checkHistory holds what the ledger keeps of the attempts at an effect against the attempts that
// came: only the last of them ended the effect [S4], each waited for the end of the lease before it
// [S3], and one that was repeated with an excuse ended as the excuse says.
func (f *fleet) checkHistory(e ledger.Effect) error {
	var problems []error
	fail := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	attempts, _ := f.receiver.of(e.IdempotencyKey)
	last := len(e.History) - 1
	if last < 0 || e.History[last].Fence != e.Fence {
		fail("its last claim has the fence %d, its history is %+v", e.Fence, e.History)
	}
	for i, entry := range e.History {
		if ends := entry.Outcome == ledger.AttemptDone || entry.Outcome == ledger.AttemptDead; ends != (i == last) {
			fail("attempt %d of %d was %q: %+v", i+1, last+1, entry.Outcome, e.History)
		}
		if i > 0 && entry.Began.Before(e.History[i-1].Ended) {
			fail("it was claimed at %v, held until %v: %+v", entry.Began, e.History[i-1].Ended, e.History)
		}
	}
	// A claim that was given back at SIGTERM is not counted.
	if back := e.Fence - int64(e.Attempts); e.Attempts < 1 || back < 0 || back > f.givenBack(e.IdempotencyKey) {
		fail("%d attempts have the fence %d", e.Attempts, e.Fence)
	}
	forgotten := e.Attempts - len(e.History) // only the last ten are kept
	for i, a := range attempts[:max(0, len(attempts)-1)] {
		at := a.number - 1 - forgotten
		if at > last {
			fail("attempt %d came to the receiver, of %d", a.number, e.Attempts)
			continue
		}
		why := f.excuseOf(a, e.IdempotencyKey)
		if !a.refused && at >= 0 && !why.allows(e.History[at].Outcome, a, attempts[i+1]) {
			fail("attempt %d, of %s, was repeated by %s and excused as %q, but the ledger says %q: %+v",
				a.number, a.process, attempts[i+1].process, why, e.History[at].Outcome, e.History)
		}
	}
	return errors.Join(problems...)
}

// givenBack returns how many claims of the effect of a key may have been given back at SIGTERM: those
// of which that is logged, and one of each process that was killed meanwhile.
func (f *fleet) givenBack(key string) (n int64) {
	for _, p := range f.processes() {
		for _, line := range p.effectLines(operationOf(key)) {
			if line.Outcome == "continued" {
				n++
			}
		}
		if p.isLeaving() && p.wasKilled() {
			n++
		}
	}
	return n
}

// TestHistory: a history in which an effect went on after its end, was claimed under a lease, or has
// another end than the excuse of a repeat says, is found.
func TestHistory(t *testing.T) {
	t.Parallel()
	const key = "gemini:batches/a#publish"
	at := func(seconds int) time.Time { return time.Date(2026, 1, 1, 12, 0, seconds, 0, time.UTC) }
	const interrupted, failed, done = ledger.AttemptInterrupted, ledger.AttemptFailed, ledger.AttemptDone
	history := func(ended int, first, second ledger.AttemptOutcome) []ledger.Attempt {
		return []ledger.Attempt{
			{Fence: 1, Began: at(0), Ended: at(ended), Outcome: first}, {Fence: 2, Began: at(8), Ended: at(9), Outcome: second},
		}
	}
	for _, c := range []struct {
		name    string
		history []ledger.Attempt
		fence   int64
		refused bool // the first
		finds   bool
	}{
		{"killed, and seized after its lease", history(8, interrupted, done), 2, false, false},
		{"refused, and tried again", history(1, failed, done), 2, true, false},
		{"killed after it was done", history(1, done, done), 2, false, true},
		{"killed, and recorded as failed", history(1, failed, done), 2, false, true},
		{"seized before the end of its lease", history(9, interrupted, done), 2, false, true},
		{"never ended", history(8, interrupted, interrupted), 2, false, true},
		{"an attempt that no claim stands behind", history(8, interrupted, done)[:1], 1, false, true},
		{"a fence without an attempt", history(8, interrupted, done), 3, false, true},
		{"no history", nil, 2, false, true},
	} {
		p := newProcess("a1")
		p.killed = true
		f := &fleet{t: t, instances: []*instance{{name: "a", runs: []*process{p}}}}
		f.receiver = newReceiver(f)
		f.receiver.attempts[key] = []*attempt{{process: "a1", number: 1, refused: c.refused}, {process: "a1", number: 2}}
		e := ledger.Effect{IdempotencyKey: key, Fence: c.fence, Attempts: 2, History: c.history}
		if err := f.checkHistory(e); (err != nil) != c.finds {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
