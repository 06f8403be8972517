package steps_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// TestKilledAtEveryCall: a process is killed at its nth call to the outside, for every n, before or after the
// call took effect, and others do the rest: nothing is lost, doubled, sent too often or done twice
// [J2, J3, J4, J5, J7, J8].
func TestKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	eachStory(t, func(t *testing.T, s story, after bool) {
		stride := harness.Soak(t, 150, 8, 1)
		if s.name != "cancelled" { // which has every step
			stride = harness.Soak(t, 150, 24, 1)
		}
		killedAtEvery(t, s, after, false, 1, stride)
	})
}

// TestKilledAtEveryCallOnFirestore is TestKilledAtEveryCall with the ledger in the emulator.
func TestKilledAtEveryCallOnFirestore(t *testing.T) {
	t.Parallel()
	harness.Firestore(t) // else the test is skipped, or fails
	stride := harness.Soak(t, 0, 48, 1)
	if stride == 0 { // several in one telling
		struckAtEachKind(t, striking{firestore: true, apart: 25, once: true, least: 20})
		return
	}
	eachStory(t, func(t *testing.T, s story, after bool) {
		first := 1
		if after { // not at the same calls, and before the end of the shortest story
			first += stride / 4
		}
		killedAtEvery(t, s, after, true, first, stride)
	})
}

// TestKilledAtEachKind: processes are killed at each kind of call, and others do the rest, as in TestKilledAtEveryCall
// [J2, J3, J4, J5, J7, J8].
func TestKilledAtEachKind(t *testing.T) {
	t.Parallel()
	struckAtEachKind(t, striking{apart: 5, least: 60})
}

// TestEachKindFails: a call of each kind fails, as in TestEachCallFails [J2, J4, J5, J7].
func TestEachKindFails(t *testing.T) {
	t.Parallel()
	struckAtEachKind(t, striking{fails: true, apart: 5, least: 120})
}

// A striking is how processes are struck at each kind of call.
type striking struct {
	fails, firestore bool
	apart            int  // calls between two that are struck
	once             bool // each story is told once, and leaves kinds to others
	least            int  // kinds that are struck, so that what tells one from another works
}

// struckAtEachKind tells each story until it has no kind of call that was not struck. One telling has many. Outside of
// the gate it leaves out the last tellings, which strike a few kinds each, and on Firestore the stories after the
// first, which has every step: what these strike more is struck in SQLite.
func struckAtEachKind(t *testing.T, how striking) {
	t.Helper()
	all := &kinds{apart: how.apart, struck: map[string]bool{}}
	chosen, few := stories(), 0
	if !harness.Thorough(t) {
		few = 3
		if how.firestore {
			chosen = chosen[:1]
		}
	}
	for _, s := range chosen {
		for n := 1; ; n++ {
			k := &killer{fails: how.fails, kinds: all.again()}
			if !told(t, fmt.Sprintf("%s/%d", s.name, n), s, k, how.firestore) {
				return
			}
			t.Logf("%s/%d: %d of %d calls", s.name, n, k.kills, k.calls)
			if k.kills <= few || how.once {
				break
			}
		}
	}
	if t.Logf("%d kinds", len(all.struck)); len(all.struck) < how.least {
		t.Errorf("%d kinds of calls were struck, want at least %d", len(all.struck), how.least)
	}
}

// TestKilledAgain: a process is killed, and again and again one of its successors. None makes as many calls as
// there are between two kills [J2, J3, J4, J5, J7, J8].
func TestKilledAgain(t *testing.T) {
	t.Parallel()
	eachStory(t, func(t *testing.T, s story, after bool) {
		calls := 50
		if after {
			calls = 25
		}
		for every := calls; every < calls+harness.Soak(t, 1, 1, 10); every++ {
			for first := 1; first <= every; first += harness.Soak(t, 50, 24, 1) {
				k := &killer{first: first, every: every, after: after}
				if !told(t, fmt.Sprintf("%d/%d", every, first), s, k, false) {
					return
				}
			}
		}
	})
}

// TestEachCallFails: the nth call to the outside fails, for every n, before or after it took effect, and the
// process lives on. What the step was about is done later, as if nothing had been [J2, J4, J5, J7].
func TestEachCallFails(t *testing.T) {
	t.Parallel()
	stride := harness.Soak(t, 150, 24, 1)
	eachStory(t, func(t *testing.T, s story, after bool) {
		for n := 1; ; n += stride {
			k := &killer{first: n, after: after, fails: true}
			if !told(t, fmt.Sprint(n), s, k, false) || k.kills == 0 || stride > 1 && n+stride > k.calls {
				break
			}
		}
	})
}

// eachStory runs a test with every story, with processes that are killed before a call and after it. Outside of the
// gate it is the first alone, which has every step: the others are told with a strike at each kind of call.
func eachStory(t *testing.T, run func(t *testing.T, s story, after bool)) {
	t.Helper()
	chosen := stories()
	if !harness.Thorough(t) {
		chosen = chosen[:1]
	}
	for _, s := range chosen {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%v", s.name, after), func(t *testing.T) {
				t.Parallel()
				run(t, s, after)
			})
		}
	}
}

// killedAtEvery tells a story with one kill, at a later call each time, until no call is left. A sample leaves out the
// story without a kill that shows it.
func killedAtEvery(t *testing.T, s story, after, firestore bool, first, stride int) {
	t.Helper()
	began, kills, struck := time.Now(), 0, map[string]int{}
	for n := first; ; n += stride {
		k := &killer{first: n, after: after}
		if !told(t, fmt.Sprint(n), s, k, firestore) || k.kills == 0 {
			break
		}
		kills++
		struck[k.struck[0]]++
		if stride > 1 && n+stride > k.calls {
			break
		}
	}
	if kills == 0 && !t.Failed() {
		t.Errorf("call %d is beyond the end: no process was killed", first)
	}
	t.Logf("killed %d times in %.1f s: %v", kills, time.Since(began).Seconds(), struck)
}

// told tells a story to its end, and reports whether it ended well.
func told(t *testing.T, name string, s story, k *killer, firestore bool) bool {
	t.Helper()
	return t.Run(name, func(t *testing.T) {
		w := inStory(t, s, k, firestore)
		w.live(s)
		if w.survived(s); t.Failed() {
			t.Errorf("the kills were at %s", k.struck)
		}
	})
}

// survived checks what a job leaves whose processes were killed.
func (w *world) survived(s story) {
	w.Helper()
	for _, reason := range w.alerts() {
		// Each lease that ends takes its time.
		late := w.killer.kills >= 3 && reason == "overdue" || w.killer.kills >= 30 && reason == "job-failing"
		if reason != "unmatched" && !late {
			w.Errorf("the alert is %s", reason)
		}
	}
	for _, err := range w.killer.idle {
		w.Errorf("a process was to end after a call, and ended it: %v", err)
	}
	j, batches := w.ended(), map[operation.Key]int{}
	if n := w.effects[nightly]; n != 1 && w.lost["publish"] == 0 && !w.killer.failed("") {
		w.Errorf("the user's effect ran %d times, although no process was killed in it", n)
	}
	keys := []operation.Key{nightly}
	for _, p := range w.parts() {
		keys = append(keys, p.Key)
		if p.Batch != "" {
			keys, batches[p.Batch] = append(keys, p.Batch), batches[p.Batch]+1
		}
	}
	for _, key := range keys {
		story, err := w.ledger.Operations.Show(w.Context(), key)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) { // a part that was dropped at once has no effect
			w.Fatal(err)
		}
		for _, e := range story.Effects {
			if e.State != ledger.EffectDone {
				w.Errorf("%s of %s is %s: %s", e.Name, key, e.State, e.LastError)
			}
		}
	}
	for _, b := range w.sim.Batches() {
		if n := batches[operation.Key(b.Name)]; n != 1 {
			w.Errorf("%s, for %s, is the batch of %d parts", b.Name, b.DisplayName, n)
		}
	}
	if j.Twins != s.twins {
		w.Errorf("%d batches are twins, want %d", j.Twins, s.twins)
	}
	if running, err := w.ledger.Jobs.Running(w.Context()); err != nil || len(running.Parts) > 0 {
		w.Errorf("%v count as running, %v", running.Parts, err)
	}
	for name, err := range w.kept.Names(w.Context(), files.Working(j)) {
		w.Errorf("%s is left in job storage, %v", name, err)
	}
}
