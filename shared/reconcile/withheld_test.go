package reconcile_test

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestWithheld: that effects are withheld from what ended longer ago than the retention is logged,
// whether a look-up finds it or an adoption [L3].
func TestWithheld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.submit("old", geminisim.StateSucceeded)
	w.clock.Advance(15 * 24 * time.Hour)
	w.registered(old)
	adopted := w.submit("adopted", geminisim.StateSucceeded)
	w.deliverAt(adopted, "m1", operation.Succeeded, w.clock.Now().Add(-15*24*time.Hour))
	w.clock.Advance(grace)
	w.passWith(reconcile.Options{Adopt: true})
	told := map[any]bool{}
	for _, line := range w.logged() {
		if line["event"] == "effect" && line["outcome"] == "withheld" && line["effects"] == 1.0 {
			told[line["operation"]] = true
		}
	}
	if !told[string(old.Key)] || !told[string(adopted.Key)] || len(told) != 2 {
		t.Errorf("told of %v, want %s and %s", told, old.Key, adopted.Key)
	}
	if got := w.published(); len(got) != 0 {
		t.Errorf("published %v", got)
	}
}
