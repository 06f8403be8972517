package ledger

import (
	"context"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// TestConditionTimes: when an operation is stuck or missing, and when that is alerted, at the ends of
// the times [R4].
func TestConditionTimes(t *testing.T) {
	t.Parallel()
	l, now := newLedger(t), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := l.Settings()
	for _, test := range []struct {
		of           operation.Collection
		ago, alerted time.Duration
		stuck, alert bool
	}{
		{operation.Operations, s.StuckAfter, -1, false, false},
		{operation.Operations, s.StuckAfter + 1, -1, true, true},
		{operation.Interactions, s.StuckAfter + 1, s.AlertEvery, true, true},
		{operation.Operations, s.StuckAfter + 1, s.AlertEvery - 1, true, false},
		{operation.Batches, s.BatchStuckAfter, -1, false, false},
		{operation.Batches, s.BatchStuckAfter + 1, -1, true, true},
		{operation.BatchJobs, s.BatchStuckAfter, -1, false, false},
		{operation.BatchPredictionJobs, s.BatchStuckAfter, -1, false, false},
	} {
		rec := operation.Record{
			State: operation.Running, Collection: test.of, CreatedAt: now.Add(-test.ago), SubmittedAt: now.Add(-test.ago),
		}
		if test.alerted >= 0 {
			rec.AlertedAt = now.Add(-test.alerted)
		}
		if _, stuck, alert := l.withStuck(DueOperation{Record: rec}, now); stuck != test.stuck || alert != test.alert {
			t.Errorf("%+v: stuck %v, alert %v", test, stuck, alert)
		}
	}
	const missing = missingIntervals
	for _, test := range []struct {
		since, alerted time.Duration
		missing, alert bool
	}{
		{missing*s.Interval - 1, -1, false, false},
		{missing * s.Interval, -1, true, true},
		{missing * s.Interval, s.AlertEvery, true, true},
		{missing * s.Interval, s.AlertEvery - 1, true, false},
	} {
		rec := operation.Record{State: operation.Running, MissingSince: now.Add(-test.since)}
		if test.alerted >= 0 {
			rec.MissingAlertedAt = now.Add(-test.alerted)
		}
		_, noted, err := l.withCondition(context.Background(), rec, ConditionNotFound, Snapshot{ReadTime: now})
		if err != nil || noted.Missing != test.missing || noted.Alert != test.alert {
			t.Errorf("%+v: %+v, %v", test, noted, err)
		}
	}
	for _, in := range []time.Duration{s.Interval, s.Interval + 1} {
		rec := operation.Record{State: operation.Running, DueAt: now.Add(in)}
		p, _, err := l.withCondition(context.Background(), rec, "odd", Snapshot{ReadTime: now})
		if sooner := p.record.DueAt.Before(now.Add(s.Interval)); err != nil || sooner != (in > s.Interval) {
			t.Errorf("due in %v, and with a condition in %v, %v", in, p.record.DueAt.Sub(now), err)
		}
	}
}

// newLedger returns a ledger without a store, for what needs none.
func newLedger(t *testing.T) *Ledger {
	t.Helper()
	l, err := New(nil, DefaultSettings(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
