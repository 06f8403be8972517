package ledger

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// TestReadEffects: a document that is not there is no effect.
func TestReadEffects(t *testing.T) {
	t.Parallel()
	effects, err := readEffects([]Document{{Path: EffectPath("batches/a", "publish")}})
	if err != nil || len(effects) > 0 {
		t.Errorf("%+v, %v", effects, err)
	}
}

// TestLate: an end that the ledger first received after the retention is too old for effects, unless
// Gemini reported it unfinished since, or an intent was recorded or renewed before it [L3].
func TestLate(t *testing.T) {
	t.Parallel()
	l, end := newLedger(t), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	old := operation.Record{State: operation.Succeeded, UpdateTime: end, CreatedAt: end.Add(l.Settings().Retention + 1)}
	in, pending := old, old
	in.CreatedAt = end.Add(l.Settings().Retention)
	pending.State = operation.Running
	report := func(state operation.State, at time.Time) operation.Record {
		return operation.Record{State: state, UpdateTime: at, CreatedAt: old.CreatedAt}
	}
	for _, test := range []struct {
		what        string
		before, rec operation.Record
		bound       Intent
		want        bool
	}{
		{"after the retention", operation.Record{}, old, Intent{}, true},
		{"as it ends", operation.Record{}, in, Intent{}, false},
		{"no end", operation.Record{}, pending, Intent{}, false},
		{"an intent from before", operation.Record{}, old, Intent{State: IntentOpen, CreatedAt: end.Add(-1)}, false},
		{"an intent renewed as it ended", operation.Record{}, old, Intent{State: IntentOpen, RenewedAt: end}, false},
		{"an intent from after", operation.Record{}, old, Intent{State: IntentOpen, CreatedAt: end.Add(1)}, true},
		{"an intent that waits no more", operation.Record{}, old, Intent{State: IntentBound, CreatedAt: end.Add(-1)}, true},
		{"registered alone", report(operation.Pending, time.Time{}), old, Intent{}, true},
		{"reported running", report(operation.Running, time.Time{}), old, Intent{}, false},
		{"reported running, with a time", report(operation.Running, old.CreatedAt), old, Intent{}, false},
		{"reported pending, with a time", report(operation.Pending, old.CreatedAt), old, Intent{}, false},
		{"reported running, past the retention itself", report(operation.Running, end), old, Intent{}, true},
		{"another end was reported", report(operation.Failed, old.CreatedAt), old, Intent{}, true},
		{"a state that is not known", report("PAUSED", old.CreatedAt), old, Intent{}, true},
	} {
		if got := l.late(test.before, test.rec, test.bound); got != test.want {
			t.Errorf("%s: late %v", test.what, got)
		}
	}
}
