package operation_test

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// TestDerived: what an index finds follows from the other fields alone, whatever was stored before
// [L5, R4, W5].
func TestDerived(t *testing.T) {
	t.Parallel()
	const stuck = 24 * time.Hour
	created, stale := early.Add(time.Hour), early.Add(-time.Hour)
	late := early.Add(stuck)
	resolved := &operation.Decided{At: early, By: "me", Why: "x"}
	for about, c := range map[string]struct {
		record           operation.Record
		late, unresolved time.Time
	}{
		"waited for":     {operation.Record{Registered: true, SubmittedAt: early, DueAt: created}, late, time.Time{}},
		"not waited for": {operation.Record{Registered: true, SubmittedAt: early}, time.Time{}, time.Time{}},
		"submitted by a clock that is ahead": {
			operation.Record{Registered: true, SubmittedAt: created.Add(time.Hour), DueAt: created}, created.Add(stuck),
			time.Time{},
		},
		"a job that has stepped since": {
			operation.Record{Registered: true, SubmittedAt: early, DueAt: created, SteppedAt: early.Add(time.Hour)},
			late.Add(time.Hour), time.Time{},
		},
		"a job that stepped before, by another clock": {
			operation.Record{Registered: true, SubmittedAt: early, DueAt: created, SteppedAt: early.Add(-time.Hour)}, late,
			time.Time{},
		},
		"missing": {operation.Record{
			Registered: true, SubmittedAt: early, DueAt: created, MissingAlertedAt: late.Add(-time.Second),
		}, late.Add(-time.Second), time.Time{}},
		"late before it was missing": {operation.Record{
			Registered: true, SubmittedAt: early, DueAt: created, MissingAlertedAt: late.Add(time.Second),
		}, late, time.Time{}},
		"unregistered":           {operation.Record{SubmittedAt: early}, time.Time{}, created},
		"unregistered, resolved": {operation.Record{UnregisteredResolved: resolved}, time.Time{}, time.Time{}},
		"registered, and resolved before": {
			operation.Record{Registered: true, UnregisteredResolved: resolved}, time.Time{}, time.Time{},
		},
	} {
		r := c.record
		r.CreatedAt, r.LateAt, r.UnresolvedAt = created, stale, stale
		r = r.Derived(stuck)
		if !r.LateAt.Equal(c.late) || !r.UnresolvedAt.Equal(c.unresolved) {
			t.Errorf("%s: late at %v, unresolved at %v; want %v and %v", about, r.LateAt, r.UnresolvedAt, c.late, c.unresolved)
		}
	}
}

// TestLate: an operation is late from its LateAt on; one without is not waited for.
func TestLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at   time.Time
		want bool
	}{
		{time.Time{}, false}, {early.Add(-time.Second), true}, {early, true}, {early.Add(time.Second), false},
	} {
		if got := (operation.Record{LateAt: c.at}).Late(early); got != c.want {
			t.Errorf("late at %v: %v, want %v", c.at, got, c.want)
		}
	}
}
