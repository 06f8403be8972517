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

// TestLate: an end that the ledger first received after the retention is too old for effects, unless an
// intent was recorded or renewed before it [L3].
func TestLate(t *testing.T) {
	t.Parallel()
	l, end := newLedger(t), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	old := operation.Record{State: operation.Succeeded, UpdateTime: end, CreatedAt: end.Add(l.Settings().Retention + 1)}
	in, pending := old, old
	in.CreatedAt = end.Add(l.Settings().Retention)
	pending.State = operation.Running
	for _, test := range []struct {
		what  string
		rec   operation.Record
		bound Intent
		want  bool
	}{
		{"after the retention", old, Intent{}, true},
		{"as it ends", in, Intent{}, false},
		{"no end", pending, Intent{}, false},
		{"an intent from before", old, Intent{State: IntentOpen, CreatedAt: end.Add(-1)}, false},
		{"an intent renewed as it ended", old, Intent{State: IntentOpen, RenewedAt: end}, false},
		{"an intent from after", old, Intent{State: IntentOpen, CreatedAt: end.Add(1)}, true},
		{"an intent that waits no more", old, Intent{State: IntentBound, CreatedAt: end.Add(-1)}, true},
	} {
		if got := l.late(test.rec, test.bound); got != test.want {
			t.Errorf("%s: late %v", test.what, got)
		}
	}
}
