package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// An excuse is why an effect may be attempted again after the receiver has answered an attempt for
// good: the outcome of that very attempt did not reach the ledger.
type excuse string

// The excuses, and no others. What a process said of another attempt is none.
const (
	killed     excuse = "killed"     // before it said how the attempt ended
	leaseLost  excuse = "lease lost" // another worker had seized the claim
	unrecorded excuse = "unrecorded" // its finish failed, while the ledger was down
	cutOff     excuse = "cut off"    // its lease could not be extended, while the ledger was down
	toldToStop excuse = "stopped"    // by SIGTERM, before it had the answer
)

// excuseOf returns the excuse of an attempt at the effect of a key, or "" where it has none.
func (f *fleet) excuseOf(a *attempt, key string) excuse {
	p := f.find(a.process)
	said := p.saidOf(key, a.number)
	for _, line := range said {
		switch {
		case line.Outcome == "lease-lost":
			return leaseLost
		case line.Outcome == "continued" && line.Reason == "stopped" && p.isLeaving():
			return toldToStop
		case line.Outcome == "unrecorded" && f.wasDown(a.came, line):
			return unrecorded
		case line.Outcome == "failed" && strings.Contains(line.Error, "the lease ends and could not be extended") &&
			f.wasDown(a.came, line):
			return cutOff
		}
	}
	switch {
	case len(said) > 0 || f.store.finished(a.process, key):
		return ""
	case p.wasKilled():
		return killed
	case p.rough && p.isLeaving():
		return toldToStop
	}
	return ""
}

// allows reports whether what the ledger keeps of an attempt fits its excuse.
func (e excuse) allows(outcome ledger.AttemptOutcome) bool {
	switch e {
	case cutOff:
		return outcome == ledger.AttemptFailed
	case toldToStop: // the attempt was not counted, and its number is the next one's
		return true
	default:
		return outcome == ledger.AttemptInterrupted
	}
}

// A downtime is a while in which no process could reach the ledger.
type downtime struct{ from, to time.Time }

// downWhile does what keeps every process from the ledger, and remembers when that was.
func (f *fleet) downWhile(do func()) {
	from := time.Now()
	do()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.downtimes = append(f.downtimes, downtime{from, time.Now()})
}

// wasDown reports whether a process may have been without the ledger at some time between the
// arrival of its request and what it logged of it.
func (f *fleet) wasDown(came time.Time, line logLine) bool {
	logged, err := time.Parse(time.RFC3339Nano, line.Time)
	if err != nil {
		f.t.Errorf("a line of the log has the time %q: %v", line.Time, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.downtimes, func(d downtime) bool {
		// A client connects again after waits of 1 s, 1.6 s, 2.56 s …: about as long as it was down, at most.
		back := d.to.Add(d.to.Sub(d.from) + 2*time.Second)
		return d.from.Before(logged) && back.After(came)
	})
}

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
		if !a.refused && at >= 0 && !why.allows(e.History[at].Outcome) {
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
