package simulation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A clock is the store's. As SQLite's it notices that it leaps: the time that it shows and that of the
// process differ, or it stands before the highest time that it showed.
type clock struct {
	skew time.Duration
	by   time.Duration // it has leapt by so much, and is not put right
	sets []time.Time   // the true times at which it was set

	read, shown    time.Time // the true time at which it was last read, and what it showed then
	highest, leapt time.Time
}

const (
	// leapOf is by how much a clock may be set that runs: more is a leap. stillFor is for how long nothing
	// expires after one.
	leapOf   = time.Hour
	stillFor = 24 * time.Hour
)

func (c *clock) now() time.Time { return operation.Instant(time.Now().Add(c.skew + c.by)) }

// look returns what the clock shows, and when it leapt last.
func (c *clock) look() (now, leapt time.Time) {
	at, now := time.Now(), c.now()
	uneven := !c.read.IsZero() && (now.Sub(c.shown)-at.Sub(c.read)).Abs() > leapOf
	if uneven || now.Before(c.highest.Add(-leapOf)) {
		c.leapt, c.highest = now, now
	}
	c.read, c.shown = at, now
	if now.After(c.highest) {
		c.highest = now
	}
	return now, c.leapt
}

// set has the clock stand by so much ahead of what is right, or behind.
func (c *clock) set(by time.Duration) {
	if by != c.by {
		c.by, c.sets = by, append(c.sets, time.Now())
	}
}

// ranEvenly returns for how long the clock had run evenly at a time, truly.
func (c *clock) ranEvenly(at time.Time) time.Duration {
	for _, set := range slices.Backward(c.sets) {
		if !set.After(at) {
			return at.Sub(set)
		}
	}
	return at.Sub(time.Time{})
}

// setSince reports whether the clock was set after a time. What a request does that began before is
// decided by what the clock showed as it read, which the check of a commit does not know.
func (c *clock) setSince(at time.Time) bool {
	return len(c.sets) > 0 && c.sets[len(c.sets)-1].After(at)
}

// leap plans that the store's clock leaps, and is put right, at the latest when the faults end. It
// reports whether what is written meanwhile expires too early: the clock stands behind by days.
func (w *World) leap() (early bool) {
	const hours, days = 8 * time.Hour, 29 * 24 * time.Hour
	leaps := []time.Duration{0, 0, 0, 0, hours, days, -hours, -days}
	by := leaps[w.gate.choose(Plan, len(leaps))]
	if by == 0 {
		return false
	}
	w.store.clock.look() // the store has run before
	w.check.writes.Leaps = true
	starts := []time.Duration{23 * time.Second, 3*time.Minute + time.Second, 11*time.Minute + time.Second}
	lasts := []time.Duration{time.Minute + 3*time.Second, 7*time.Minute + 3*time.Second, time.Hour}
	after, last := starts[w.gate.choose(Plan, len(starts))], lasts[w.gate.choose(Plan, len(lasts))]
	w.at(after, func() { w.setClock(by) })
	w.at(after+last, func() { w.setClock(0) })
	return by < -stillFor
}

// setClock sets the store's clock. The store then deletes at once what seems to have expired.
func (w *World) setClock(by time.Duration) {
	w.gate.event(fmt.Sprintf("the store's clock is set to %v off", by), func() {
		if by != 0 && w.gate.calm { // too late for a fault
			return
		}
		if by != 0 {
			w.gate.met[metLeapt]++
		}
		w.store.clock.set(by)
		w.store.clock.look()
		for _, path := range slices.Sorted(maps.Keys(w.store.documents)) {
			w.store.expire(path)
		}
	})
}

// steady checks that what is given up, by its age alone, has been so for longer than the clock has run
// evenly when its pass began [R4, G6].
func (c *checker) steady(by *actor, subject any, d time.Duration) {
	ran := c.w.store.clock.ranEvenly(by.began)
	c.must(ran >= d, "%v is given up by its age, and the clock leapt only %v before [R4, G6]", subject, ran)
}

// farthest is longer than any wait of these settings.
const farthest = 2 * time.Hour

// far reports whether a document is due later than anything can be.
func (c *checker) far(d *document) bool {
	return d.times.DueAt.After(c.w.store.clock.now().Add(farthest))
}
