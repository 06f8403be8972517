package phrase

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// TestWhyPending: each reason for which an operation is waited for [R4].
func TestWhyPending(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	earlier, later := now.Add(-time.Hour), now.Add(time.Minute)
	since := "since " + LocalTime(earlier)
	for _, c := range []struct {
		record operation.Record
		want   string
	}{
		{operation.Record{State: operation.Pending, DueAt: later}, "young: not looked up yet"},
		{operation.Record{State: operation.Pending, DueAt: earlier}, "not looked up yet: reconcile is due"},
		{operation.Record{State: operation.Pending, DueAt: later, LookUps: 1}, "Gemini has not started it"},
		{operation.Record{State: operation.Running, DueAt: later}, "Gemini runs it"},
		{operation.Record{State: operation.RequiresAction, DueAt: later}, "it waits for its submitter"},
		{operation.Record{State: operation.Running, StuckSince: earlier}, "Gemini runs it; pending for too long " + since},
		{operation.Record{State: operation.Running, Condition: "not-found", ConditionSince: now, MissingSince: earlier},
			"not found at Gemini " + since},
		{operation.Record{State: operation.Running, Condition: "rate-limited", ConditionSince: earlier},
			"rate-limited " + since},
		{operation.Record{State: operation.Running, Condition: "\x1b[2J", ConditionSince: earlier, MissingSince: earlier},
			"not found at Gemini " + since + ", \\x1b[2J " + since},
	} {
		if got := WhyPending(c.record, now, ""); got != c.want {
			t.Errorf("%+v: %q, want %q", c.record, got, c.want)
		}
	}
}
