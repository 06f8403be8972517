package reconcile_test

import (
	"cmp"
	"maps"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestStuckByKind: valid batches take 9 hours, and Gemini aims at a day, so a batch is alerted after
// 24 hours. A video, an interaction and an intent are alerted after 6 [R4, R7, G6].
func TestStuckByKind(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, setting{alerts: true})
	names := map[operation.Key]string{
		w.register("a", geminisim.StateRunning).Key:                           "batch",
		w.registered(w.video("v", geminisim.VideoRunning)).Key:                "video",
		w.registered(w.interaction("i", geminisim.InteractionInProgress)).Key: "interaction",
	}
	w.intend("c-1", ledger.Intention{Collection: operation.Batches})
	told := map[string]time.Duration{} // first, since no worker answers
	began := w.clock.Now()
	for range 25 {
		w.clock.Advance(time.Hour)
		w.passWith(reconcile.Options{})
		for _, m := range w.outbox.Drain() {
			of := cmp.Or(names[m.Operation], "intent")
			told[of] = cmp.Or(told[of], w.clock.Now().Sub(began))
		}
	}
	want := map[string]time.Duration{
		"batch": 25 * time.Hour, "video": 7 * time.Hour, "interaction": 7 * time.Hour, "intent": 6 * time.Hour,
	}
	if !maps.Equal(told, want) {
		t.Errorf("first alerted after %v, want %v", told, want)
	}
}
