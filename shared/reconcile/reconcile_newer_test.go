package reconcile_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestNewer: a pass goes past what a newer revision wrote, logs one line, and is not kept from the
// rest. A pass of the newer revision finds all of it due [L6, R6].
func TestNewer(t *testing.T) {
	t.Parallel()
	inBubble(t, setting{}, func(t *testing.T, w *world) {
		names := w.many(103)
		ended := w.register("ended", geminisim.StateSucceeded)
		w.clock.Advance(grace)
		w.pass(reconcile.Summary{Due: 104, Checked: 104, Running: 103, Settled: 1})
		w.intend("lost", ledger.Intention{})
		w.clock.Advance(interval)
		var newer []ledger.Path
		for _, name := range names[:100] {
			newer = append(newer, ledger.OperationPath(name.Key))
		}
		newer = append(newer, ledger.EffectPath(ended.Key, "publish"))
		waits := ledger.Path("intents/lost") // it is not due yet
		renumber := func(number int) {
			t.Helper()
			for _, path := range append(newer, waits) {
				ledgertest.Renumber(t, w.store, path, number)
			}
		}
		renumber(operation.NewestSchema + 1)
		w.outbox.Drain()
		w.log.Drain(t)
		before := w.sim.Stats().BatchLists
		for range 2 {
			w.pass(reconcile.Summary{Due: 3, Checked: 3, Running: 3, Newer: len(newer)})
			lines := slices.DeleteFunc(w.log.Drain(t), func(line map[string]any) bool { return line["event"] == "ingest" })
			if len(lines) != 1 || lines[0]["event"] != "reconcile" || lines[0]["outcome"] != "newer" ||
				fmt.Sprint(lines[0]["documents"]) != fmt.Sprint(len(newer)) {
				t.Errorf("logged %v, want one line", lines)
			}
			w.clock.Advance(interval)
		}
		if lists := w.sim.Stats().BatchLists; lists != before {
			t.Errorf("Gemini's list was asked for %d times, for an intent that is left alone", lists-before)
		}
		if sent := w.outbox.Drain(); len(sent) != 0 {
			t.Errorf("published %v", sent)
		}
		renumber(operation.SchemaVersion)
		w.pass(reconcile.Summary{Due: 103, Checked: 103, Running: 103, EffectsRequeued: 1})
		if sent := w.outbox.Drain(); len(sent) != 1 {
			t.Errorf("published %v, want the effect that was left alone", sent)
		}
	})
}
