package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// A leaping is a ledger's file, and the clock of its process, which can be set.
type leaping struct {
	*testing.T
	path string
	at   time.Time     // what the clock shows
	ran  time.Duration // how much of the process's time has passed
	// slept is for how long the machine was suspended. Where falls is set, it is so again once the clock
	// has been read next.
	slept, falls time.Duration
	s            *Store
}

func newLeaping(t *testing.T) *leaping {
	l := &leaping{
		T: t, path: filepath.Join(t.TempDir(), "ledger.db"), at: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC),
	}
	t.Cleanup(func() { l.check(l.s.Close()) })
	l.open()
	return l
}

func (l *leaping) check(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *leaping) open() {
	l.Helper()
	var err error
	l.s, err = Open(l.Context(), l.path, func() time.Time {
		at := l.at
		l.suspend(l.falls)
		l.falls = 0
		return at
	})
	l.check(err)
	l.s.clock.suspended = func() time.Duration { return l.slept }
	last := l.ran
	l.s.clock.passed = func(_, _ time.Time) time.Duration {
		passed := l.ran - last
		last = l.ran
		return passed
	}
}

// restart is another process, after a rest.
func (l *leaping) restart(rest time.Duration) {
	l.Helper()
	l.check(l.s.Close())
	l.at = l.at.Add(rest)
	l.open()
}

// run lets time pass, by the clock as in the process, and the store is asked every hour.
func (l *leaping) run(d time.Duration) {
	l.Helper()
	for range d / time.Hour {
		l.at, l.ran = l.at.Add(time.Hour), l.ran+time.Hour
		l.leapt()
	}
}

// suspend has the machine sleep: the process's time stops.
func (l *leaping) suspend(d time.Duration) { l.at, l.slept = l.at.Add(d), l.slept+d }

// set sets the clock while the process runs.
func (l *leaping) set(d time.Duration) { l.at = l.at.Add(d) }

func (l *leaping) leapt() time.Time {
	l.Helper()
	snapshot, err := l.s.Get(l.Context())
	l.check(err)
	return snapshot.Leapt
}

// keep stores a document that expires after d.
func (l *leaping) keep(path ledger.Path, d time.Duration) {
	l.Helper()
	_, err := l.s.Commit(l.Context(), ledger.Write{Path: path, Data: expiring{"x", l.at.Add(d)}})
	l.check(err)
}

func (l *leaping) expires(what string, want int64) {
	l.Helper()
	if n, err := l.s.Expire(l.Context()); err != nil || n != want {
		l.Errorf("L3: %s: %d expired, want %d; %v", what, n, want, err)
	}
}

const aDay = 24 * time.Hour

// TestLeapExpiresNothing: after the clock leapt, forward or back, nothing expires for a day: neither in
// this process nor in the next one [L3].
func TestLeapExpiresNothing(t *testing.T) {
	t.Parallel()
	t.Run("forward and back", func(t *testing.T) {
		t.Parallel()
		l := newLeaping(t)
		l.keep("operations/a", 28*aDay)
		l.set(29 * aDay)
		l.expires("after 29 days at once", 0)
		l.run(23 * time.Hour)
		l.expires("most of a day later", 0)
		l.set(-29 * aDay)
		l.run(2 * aDay)
		l.expires("back, and two days later", 0)
		l.run(26 * aDay)
		l.expires("when it has expired", 1)
	})
	t.Run("forward for good", func(t *testing.T) {
		t.Parallel()
		l := newLeaping(t)
		l.keep("operations/a", 28*aDay)
		l.set(29 * aDay)
		l.run(25 * time.Hour)
		l.expires("a day later", 1)
	})
	t.Run("and the process ends", func(t *testing.T) {
		t.Parallel()
		l := newLeaping(t)
		l.keep("operations/a", 28*aDay)
		l.set(29 * aDay)
		l.keep("operations/b", 28*aDay)
		l.restart(time.Minute)
		l.expires("in the next process", 0)
		l.restart(-29 * aDay)
		l.expires("back in a further one", 0)
		l.keep("operations/c", 28*aDay)
		l.restart(25 * time.Hour)
		l.expires("a day later", 0)
		if l.leapt().IsZero() {
			t.Error("L3: the file does not know when the clock leapt")
		}
		l.restart(28 * aDay)
		l.expires("when they have expired", 2)
	})
}

// TestRestIsNoLeap: a ledger that was not used for long expires at its start, and the small steps of a
// clock that is kept right are no leaps [L3].
func TestRestIsNoLeap(t *testing.T) {
	t.Parallel()
	l := newLeaping(t)
	l.keep("operations/a", 28*aDay)
	l.set(10 * time.Minute)
	l.set(-50 * time.Minute)
	l.restart(29 * aDay)
	l.expires("after a rest", 1)
	l.keep("operations/b", time.Hour)
	l.set(30 * time.Minute)
	l.run(time.Hour)
	l.expires("after a small step", 1)
	if at := l.leapt(); !at.IsZero() {
		t.Errorf("L3: it leapt at %v", at)
	}
}

// TestSuspendIsNoLeap: on a machine that is suspended every night things expire, and nothing seems to
// leap, also where it falls asleep while the clock is read. One whose clock was set meanwhile has leapt
// [L3, R4].
func TestSuspendIsNoLeap(t *testing.T) {
	t.Parallel()
	l := newLeaping(t)
	l.keep("operations/a", 5*aDay)
	for range 4 {
		l.run(16 * time.Hour)
		l.suspend(8 * time.Hour)
		l.leapt()
	}
	l.run(12 * time.Hour)
	l.falls = 8 * time.Hour
	l.leapt()
	l.run(12 * time.Hour)
	l.expires("after five nights", 1)
	if at := l.leapt(); !at.IsZero() {
		t.Errorf("L3: it leapt at %v", at)
	}
	l.suspend(8 * time.Hour)
	l.set(2 * time.Hour)
	if l.leapt().IsZero() {
		t.Error("L3: the clock was set while the machine was suspended, and that is no leap")
	}
}

// TestSuspended: the system says for how long the machine has been suspended, and goes on from there.
func TestSuspended(t *testing.T) {
	t.Parallel()
	first := suspended()
	if again := suspended(); first < -time.Second || again-first > leap/2 || first-again > time.Second {
		t.Errorf("suspended for %v, then %v", first, again)
	}
}

// TestClockOfOlderFile: a file of an older revision gets what it lacks of the clock, and keeps its
// versions.
func TestClockOfOlderFile(t *testing.T) {
	t.Parallel()
	l := newLeaping(t)
	l.keep("operations/a", aDay)
	err := l.s.transact(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `ALTER TABLE sequence DROP COLUMN highest;
			ALTER TABLE sequence DROP COLUMN leapt`)
		return err
	})
	l.check(err)
	l.restart(time.Minute)
	l.keep("operations/b", aDay)
	l.restart(-aDay)
	if l.leapt().IsZero() {
		t.Error("the file does not know its highest time")
	}
	got, err := l.s.Get(t.Context(), "operations/a", "operations/b")
	if err != nil || !got.Documents[0].Exists() || !got.Documents[1].Exists() {
		t.Error(errors.Join(err, errors.New("a document is gone")))
	}
}
