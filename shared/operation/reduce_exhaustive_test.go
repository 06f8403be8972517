package operation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/operation"
)

// worldStates are all known states and two unknown ones. The tests of this file are exhaustive:
// every state, at every time that compares differently, under every set of transitions.
func worldStates() []operation.State {
	return append([]operation.State{operation.Unknown, "PAUSED"}, operation.States()...)
}

// worldRecords are the records of every state at every time.
func worldRecords() (all []operation.Record) {
	for _, state := range worldStates() {
		for _, at := range []time.Time{missing, early, late} {
			all = append(all, record(state, at))
		}
	}
	return all
}

// worldEvents are the events of every state at every time, among them one that is newer only before
// it is cut.
func worldEvents() (all []operation.Event) {
	for _, state := range worldStates() {
		for _, at := range []time.Time{missing, early, early.Add(999 * time.Nanosecond).In(time.FixedZone("", 7200)), late} {
			all = append(all, event(state, at))
		}
	}
	return all
}

// A policy is a set of allowed moves, as text and parsed.
type policy struct {
	moves   string
	allowed operation.Transitions
}

// policies are all sets of moves between different terminal states without a cycle: 543, the number
// of acyclic graphs with four nodes. The first is the default, which allows nothing.
func policies() (all []policy) {
	for _, moves := range moveSets() {
		if allowed, err := operation.ParseTransitions(moves); err == nil {
			all = append(all, policy{moves, allowed})
		}
	}
	return all
}

// A change is one applied event.
type change struct {
	policy
	before, after operation.Record
	event         operation.Event
	reason        operation.Reason
}

func (c change) String() string {
	return fmt.Sprintf("under %q, %s, %s", c.moves, spell(c.before), spellEvent(c.event))
}

func spell(r operation.Record) string     { return fmt.Sprintf("%q of %v", r.State, r.UpdateTime) }
func spellEvent(e operation.Event) string { return fmt.Sprintf("%q of %v", e.State, e.UpdateTime) }

// everyChange calls f for every event that is applied to a record, under every policy.
func everyChange(f func(change)) {
	records, events := worldRecords(), worldEvents()
	for _, p := range policies() {
		for _, r := range records {
			for _, e := range events {
				if d := operation.Reduce(r, e, p.allowed); d.Applied {
					f(change{policy: p, before: r, after: operation.Apply(r, e, now), event: e, reason: d.Reason})
				}
			}
		}
	}
}

// TestProgressIsNeverLost: a settled record never becomes unsettled [M9], its rank never falls
// [M1], its time never goes back at the same rank [M4], and it moves to another end only where the
// policy allows it [M5].
func TestProgressIsNeverLost(t *testing.T) {
	t.Parallel()
	changes := 0
	everyChange(func(c change) {
		changes++
		if c.before.Settled() && !c.after.Settled() {
			t.Errorf("%s: unsettled to %s", c, spell(c.after))
		}
		was, is := c.before.State.Rank(), c.after.State.Rank()
		if is < was {
			t.Errorf("%s: rank fell from %d to %d", c, was, is)
		}
		if is == was && !c.after.UpdateTime.After(c.before.UpdateTime) {
			t.Errorf("%s: no newer at the same rank", c)
		}
		moved := c.before.Settled() && c.before.State != c.after.State
		if moved && !c.allowed.Allow(c.before.State, c.after.State) {
			t.Errorf("%s: moved to %s, which is not allowed", c, spell(c.after))
		}
		if moved != (c.reason == operation.Transition) {
			t.Errorf("%s: moved is %v, reason %q", c, moved, c.reason)
		}
	})
	if changes == 0 {
		t.Error("nothing was ever applied")
	}
}

// TestReasonsPartitionAllEvents: for every record and event the conditions of exactly one reason
// hold, and that is the decision's reason. The conditions are those of [M3], without an order.
func TestReasonsPartitionAllEvents(t *testing.T) {
	t.Parallel()
	seen := map[operation.Reason]int{}
	records, events := worldRecords(), worldEvents()
	for _, p := range policies() {
		for _, r := range records {
			for _, e := range events {
				var (
					rose    = e.State.Rank() > r.State.Rank()
					fell    = e.State.Rank() < r.State.Rank()
					level   = !rose && !fell
					settled = r.State.Terminal()
					same    = r.State == e.State
					moves   = level && settled && !same
					newer   = operation.Instant(e.UpdateTime).After(r.UpdateTime)
					older   = !e.UpdateTime.IsZero() && operation.Instant(e.UpdateTime).Before(r.UpdateTime)
					refused = moves && (!p.allowed.Allow(r.State, e.State) || !newer && !older)
				)
				var fits []operation.Decision
				for _, candidate := range []struct {
					holds bool
					operation.Decision
				}{
					{fell && settled, operation.Decision{Reason: operation.RegressFromTerminal}},
					{fell && !settled, operation.Decision{Reason: operation.LowerRank}},
					{refused, operation.Decision{Reason: operation.TerminalConflict}},
					{level && !refused && !newer, operation.Decision{Reason: operation.StaleOrEqualUpdateTime}},
					{rose, operation.Decision{Applied: true, Reason: operation.Advanced}},
					{level && !moves && newer, operation.Decision{Applied: true, Reason: operation.Refreshed}},
					{moves && !refused && newer, operation.Decision{Applied: true, Reason: operation.Transition}},
				} {
					if candidate.holds {
						fits = append(fits, candidate.Decision)
					}
				}
				got := operation.Reduce(r, e, p.allowed)
				if len(fits) != 1 || fits[0] != got {
					t.Errorf("under %q, %s, %s: %+v, want %+v", p.moves, spell(r), spellEvent(e), got, fits)
				}
				seen[got.Reason]++
			}
		}
	}
	if len(seen) != 7 {
		t.Errorf("seen only %v", seen)
	}
}

// TestDropsAreFinal: an event that was dropped once is always dropped: whatever an applied event
// changes in a record, all that was dropped before is dropped after. The changed record is again
// one of the records of this test, so this holds for sequences of any length, under every policy
// [M3, M5].
func TestDropsAreFinal(t *testing.T) {
	t.Parallel()
	records, events := worldRecords(), worldEvents()
	place := map[string]int{}
	for i, r := range records {
		place[spell(r)] = i
	}
	for _, p := range policies() {
		dropped := make([][]bool, len(records))
		next := make([][]int, len(records))
		for i, r := range records {
			dropped[i], next[i] = make([]bool, len(events)), make([]int, len(events))
			for j, e := range events {
				if dropped[i][j] = !operation.Reduce(r, e, p.allowed).Applied; dropped[i][j] {
					continue
				}
				after := operation.Apply(r, e, now)
				var known bool
				if next[i][j], known = place[spell(after)]; !known {
					t.Fatalf("%s on %s ends outside of the test's records: %s", spellEvent(e), spell(r), spell(after))
				}
			}
		}
		for i := range records {
			for j := range events {
				if dropped[i][j] {
					continue
				}
				for k := range events {
					if dropped[i][k] && !dropped[next[i][j]][k] {
						t.Errorf("under %q, %s drops %s but takes it after %s",
							p.moves, spell(records[i]), spellEvent(events[k]), spellEvent(events[j]))
					}
				}
			}
		}
	}
}

// TestReduceIsPure: reduce depends only on states and times, not on the event's source or operation
// [M2, K6]. Neither Reduce nor Apply changes its arguments.
func TestReduceIsPure(t *testing.T) {
	t.Parallel()
	adorned := func(r operation.Record) operation.Record {
		r.Schema, r.Version, r.LookUps, r.JobKind, r.CorrelationID = 1, 7, 3, "batch-review", "c-1"
		r.Registered, r.CreatedAt, r.SubmittedAt, r.SettledAt, r.SettledBy = false, late, late, late, operation.Reconcile
		r.DueAt, r.ExpireAt, r.StuckSince, r.AlertedAt = late, late, late, late
		r.Metadata, r.Result = `{"a":1}`, operation.Result{ErrorCode: "ABORTED", Counts: &operation.Counts{Total: 2}}
		r.Effects = map[string]operation.EffectStatus{"publish": operation.EffectOpen}
		return r
	}
	decorated := func(e operation.Event) operation.Event {
		e.Name = operation.Name{Key: "operations/other", Resource: "operations/other"}
		e.DeliveryID, e.Source, e.Type, e.CorrelationID = "msg_2", operation.Reconcile, "batch.succeeded", "c-2"
		e.Result = operation.Result{OutputFile: "files/x", Counts: &operation.Counts{Total: 9}}
		return e
	}
	for _, p := range policies()[:50] {
		for _, r := range worldRecords() {
			for _, e := range worldEvents() {
				full, rich := adorned(r), decorated(e)
				plain := operation.Reduce(r, e, p.allowed)
				for _, got := range []operation.Decision{
					operation.Reduce(r, e, p.allowed), operation.Reduce(full, e, p.allowed),
					operation.Reduce(r, rich, p.allowed), operation.Reduce(full, rich, p.allowed),
				} {
					if got != plain {
						t.Errorf("%s on %s: %+v and %+v", spellEvent(e), spell(r), plain, got)
					}
				}
			}
		}
	}
	for _, r := range worldRecords() {
		for _, e := range worldEvents() {
			full, rich := adorned(r), decorated(e)
			first, second := operation.Apply(full, rich, now), operation.Apply(full, rich, now)
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("Apply twice (-first +second):\n%s", diff)
			}
			if diff := cmp.Diff(adorned(r), full); diff != "" {
				t.Errorf("Apply changed the record that it was given:\n%s", diff)
			}
			if diff := cmp.Diff(decorated(e), rich); diff != "" {
				t.Errorf("Apply changed the event that it was given:\n%s", diff)
			}
		}
	}
}
