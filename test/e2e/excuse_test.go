package e2e

import (
	"slices"
	"strings"
	"testing"
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
			time.Duration(line.Took)*time.Millisecond >= f.lease*9/10 && f.wasDown(a.came, line):
			return cutOff
		}
	}
	switch {
	case len(said) > 0 || !p.wasKilled() || f.store.finished(a.process, key):
		return ""
	case p.isLeaving():
		return toldToStop // and killed before it said so
	default:
		return killed
	}
}

// allows reports whether what the ledger keeps of an attempt, and the number of the next one that
// came, fit the excuse of the first. An attempt that was told to stop is not counted.
func (e excuse) allows(outcome ledger.AttemptOutcome, before, next *attempt) bool {
	switch {
	case e == cutOff:
		return outcome == ledger.AttemptFailed
	case e == toldToStop && next.number == before.number:
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

// TestExcuses: an attempt that was answered for good is excused by what its process said of that very
// attempt, and by nothing else.
func TestExcuses(t *testing.T) {
	t.Parallel()
	const about, key = "batches/a", "gemini:batches/a#publish"
	came := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	line := func(attempt int, outcome string) logLine {
		return logLine{Attempt: attempt, Outcome: outcome, Time: came.Add(11 * time.Second).Format(time.RFC3339Nano)}
	}
	with := func(l logLine, change func(*logLine)) logLine { change(&l); return l }
	lateCut := func(l *logLine) { l.Error, l.Took = "the lease ends and could not be extended", 7200 }
	sigterm := func(l *logLine) { l.Reason = "stopped" }
	down := []downtime{{came.Add(-4 * time.Second), came.Add(-2 * time.Second)}}
	for _, c := range []struct {
		name            string
		said            []logLine
		killed, leaving bool
		downtimes       []downtime
		want            excuse
	}{
		{name: "alive and silent"},
		{name: "killed and silent", killed: true, want: killed},
		{name: "killed when it had finished", said: []logLine{line(2, "finished")}, killed: true},
		{name: "killed when it had failed", said: []logLine{line(2, "failed")}, killed: true},
		{name: "killed when it had said something of another attempt", said: []logLine{line(1, "failed")}, killed: true,
			want: killed},
		{name: "an error about a message without an attempt", said: []logLine{line(0, "error")}},
		{name: "lease lost", said: []logLine{line(2, "lease-lost")}, want: leaseLost},
		{name: "another attempt's lease lost", said: []logLine{line(1, "lease-lost"), line(2, "finished")}},
		{name: "unrecorded", said: []logLine{line(2, "unrecorded")}, downtimes: down, want: unrecorded},
		{name: "unrecorded in a ledger that was there", said: []logLine{line(2, "unrecorded")}},
		{name: "unrecorded, and a downtime long ago", said: []logLine{line(2, "unrecorded")},
			downtimes: []downtime{{came.Add(-5 * time.Second), came.Add(-4 * time.Second)}}},
		{name: "unrecorded, and a downtime after it", said: []logLine{line(2, "unrecorded")},
			downtimes: []downtime{{came.Add(12 * time.Second), came.Add(20 * time.Second)}}},
		{name: "cut off", said: []logLine{with(line(2, "failed"), lateCut)}, downtimes: down, want: cutOff},
		{name: "cut off before its lease ends", downtimes: down,
			said: []logLine{with(line(2, "failed"), func(l *logLine) { lateCut(l); l.Took = 7199 })}},
		{name: "cut off from a ledger that was there", said: []logLine{with(line(2, "failed"), lateCut)}},
		{name: "stopped", said: []logLine{with(line(2, "continued"), sigterm)}, leaving: true, want: toldToStop},
		{name: "stopped without a signal", said: []logLine{with(line(2, "continued"), sigterm)}},
		{name: "killed while it stopped", killed: true, leaving: true, want: toldToStop},
	} {
		p := newProcess("a1")
		p.killed, p.leaving, p.effects[about] = c.killed, c.leaving, c.said
		f := &fleet{
			t: t, lease: 8 * time.Second, downtimes: c.downtimes,
			instances: []*instance{{name: "a", runs: []*process{p}}},
		}
		if got := f.excuseOf(&attempt{process: "a1", number: 2, came: came}, key); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
