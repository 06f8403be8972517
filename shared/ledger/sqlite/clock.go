package sqlite

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

const (
	// leap is by how much a clock may be set while it runs, such as by NTP: more is a leap.
	leap = time.Hour
	// stillFor is for how long nothing expires after a leap. An operator has a day to set it right.
	stillFor = 24 * time.Hour
)

// A clock is the store's. It notices leaps in two ways. While a process runs: the time of day and the
// process's own time differ. When a process starts: the clock stands before the latest time that a commit left
// in the file. A clock that stands after that has not leapt: nothing used the ledger meanwhile. Nor has one
// whose machine was suspended: that time counts. Two cases look like a leap and are none: a virtual machine
// that was paused from outside, and a suspended machine whose system (neither Linux nor macOS) stops the
// process's own time.
type clock struct {
	now func() time.Time
	// passed is how much of the process's time passed between two of now's.
	passed func(from, to time.Time) time.Duration
	// suspended is for how long the machine has been suspended: of that the process's time has nothing.
	suspended func() time.Duration

	mu      sync.Mutex
	last    time.Time     // of now, with the process's time
	slept   time.Duration // of suspended, at that time
	highest time.Time     // of all commits and reads since the last leap
	leapt   time.Time     // when it leapt last, by what it showed then; zero: never
	fresh   bool          // that is not in the file yet
}

func newClock(now func() time.Time) *clock {
	return &clock{
		now: now, passed: func(from, to time.Time) time.Duration { return to.Sub(from) }, suspended: suspended,
	}
}

// read returns the time, to the microsecond, and when the clock leapt last.
func (c *clock) read() (now, leapt time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, slept := c.look()
	now = at.UTC().Truncate(time.Microsecond) // without the process's time
	back := now.Before(c.highest.Add(-leap))
	if back || !c.last.IsZero() && (now.Sub(c.last.Round(0))-c.passed(c.last, at)-(slept-c.slept)).Abs() > leap {
		c.leapt, c.highest, c.fresh = now, now, true
	}
	c.last, c.slept, c.highest = at, slept, operation.Later(c.highest, now)
	return now, c.leapt
}

// look returns the time, and for how long the machine had been suspended by then. Where that has grown by half a
// leap or more since the clock was last read, it looks again: it may have been suspended between the two.
func (c *clock) look() (at time.Time, slept time.Duration) {
	for before := c.slept; ; before = slept {
		at, slept = c.now(), c.suspended()
		if slept-before < leap/2 {
			return at, slept
		}
	}
}

// load takes over what the file has.
func (c *clock) load(ctx context.Context, db *sql.DB) error {
	var highest, leapt int64
	err := db.QueryRowContext(ctx, "SELECT highest, leapt FROM sequence").Scan(&highest, &leapt)
	if err == nil && highest > 0 {
		c.highest = time.UnixMicro(highest).UTC()
	}
	if err == nil && leapt > 0 {
		c.leapt = time.UnixMicro(leapt).UTC()
	}
	return err
}

// advance is what a commit leaves in the file: it counts versions, keeps the highest time, and a leap
// that is not there yet. With a leap the highest time begins again.
const advance = `UPDATE sequence SET last = last + ?1,
	highest = CASE WHEN ?3 THEN ?2 ELSE max(highest, ?2) END,
	leapt = CASE WHEN ?3 THEN ?4 ELSE leapt END
	RETURNING last`

// stamp returns advance's parameters about the clock.
func (c *clock) stamp() (now int64, fresh bool, leapt int64) {
	at, _ := c.read()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leapt.IsZero() {
		return at.UnixMicro(), false, 0
	}
	return at.UnixMicro(), c.fresh, c.leapt.UnixMicro()
}

// stored notes that a leap is in the file.
func (c *clock) stored(leapt int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh && c.leapt.UnixMicro() == leapt {
		c.fresh = false
	}
}
