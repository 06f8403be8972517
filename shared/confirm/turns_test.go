package confirm

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

var start = time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC)

// TestTurns: one look-up at a time per operation, and one per gap, counted from its start.
func TestTurns(t *testing.T) {
	t.Parallel()
	turns := newTurns(time.Minute)
	leave, why := turns.enter("batches/a", "", start)
	if leave == nil {
		t.Fatal(why)
	}
	wantNot := func(key operation.Key, now time.Time, want string) {
		t.Helper()
		if leave, why := turns.enter(key, "", now); leave != nil || why != want {
			t.Errorf("%s may be asked about (%q), want %q", key, why, want)
		}
	}
	wantNot("batches/a", start.Add(time.Hour), AskedLately) // the look-up is still under way
	other, why := turns.enter("batches/b", "", start)
	if other == nil {
		t.Fatal(why)
	}
	leave()
	wantNot("batches/a", start.Add(time.Minute-1), AskedLately)
	if again, why := turns.enter("batches/a", "", start.Add(time.Minute)); again == nil {
		t.Error(why)
	}
	wantNot("batches/b", start.Add(time.Hour), AskedLately)
	other()
}

// TestTurnsAtOnce: the number of concurrent look-ups is bounded.
func TestTurnsAtOnce(t *testing.T) {
	t.Parallel()
	turns := newTurns(time.Minute)
	var leave []func()
	for i := range maxActive {
		done, why := turns.enter(operation.Key(fmt.Sprintf("batches/%d", i)), "", start)
		if done == nil {
			t.Fatal(i, why)
		}
		leave = append(leave, done)
	}
	if done, why := turns.enter("batches/next", "", start); done != nil || why != Busy {
		t.Errorf("%d at once (%q)", maxActive+1, why)
	}
	leave[3]()
	if done, why := turns.enter("batches/next", "", start); done == nil {
		t.Error(why)
	}
}

// TestTurnsForget: many names cannot exhaust the memory, and block others no longer than the gap.
func TestTurnsForget(t *testing.T) {
	t.Parallel()
	turns := newTurns(time.Hour)
	now := start
	for i := range maxRemembered {
		leave, why := turns.enter(operation.Key(fmt.Sprintf("batches/%d", i)), "", now)
		if leave == nil {
			t.Fatal(i, why)
		}
		leave()
		now = now.Add(processEvery) // no faster than the process may
	}
	if leave, why := turns.enter("batches/next", "", start.Add(time.Hour-1)); leave != nil || why != Busy {
		t.Errorf("room for one more (%q)", why)
	}
	leave, why := turns.enter("batches/next", "", now.Add(time.Hour))
	if leave == nil || len(turns.last) != 1 {
		t.Errorf("%q, and %d are remembered, want 1", why, len(turns.last))
	}
}

// TestTurnsTogether: one of many concurrent callers may make a look-up.
func TestTurnsTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns, free := newTurns(time.Minute), make(chan bool)
		for range 100 {
			go func() {
				leave, _ := turns.enter("batches/a", "", start)
				free <- leave != nil
				if leave != nil {
					leave()
				}
			}()
		}
		n := 0
		for range 100 {
			if <-free {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d may ask, want 1", n)
		}
	})
}
