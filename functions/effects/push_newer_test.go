package effects_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
)

// TestNewer: a message about what a newer revision wrote is finished, whatever of it is newer, and
// writes nothing. What an operator asks for is redelivered. The sweep of the newer revision publishes
// the effects again, and each runs once [L6].
func TestNewer(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(4)
		w.topic.Drain()
		w.die("batches/0002")
		newer := []ledger.Path{
			ledger.EffectPath("batches/0000", "publish"), ledger.OperationPath("batches/0001"),
			ledger.OperationPath("batches/0002"),
		}
		for _, path := range newer {
			ledgertest.Renumber(w.T, w.store, path, operation.NewestSchema+1)
		}
		before := w.tokens(newer...)
		w.log.Drain(w.T)
		function := w.revision(false, "publish")
		for i, key := range []operation.Key{"batches/0000", "batches/0001"} {
			report, err := function.Run(w.Context(), first(key))
			if err != nil || report.Outcome != effect.Newer || report.Again() {
				t.Errorf("%s: %+v, %v", key, report, err)
			}
			paused, err := w.revision(true, "publish").Run(w.Context(), first(key))
			want := []effect.Outcome{effect.Newer, effect.Paused}[i]
			if err != nil || paused.Outcome != want || paused.Again() {
				t.Errorf("%s, while paused: %+v, %v, want %s", key, paused, err, want)
			}
		}
		asked := ledger.Message{Operation: "batches/0002", Effect: "publish", ID: "m1"}
		for what, f := range map[string]func(ledger.Message) (effect.Report, error){
			"known":   func(m ledger.Message) (effect.Report, error) { return function.Run(w.Context(), m) },
			"unknown": func(m ledger.Message) (effect.Report, error) { return w.revision(false).Run(w.Context(), m) },
		} {
			report, err := f(asked)
			if err != nil || !report.Again() {
				t.Errorf("an operator's message, %s here: %+v, %v, want that it is redelivered", what, report, err)
			}
		}
		counted := map[string]int{}
		for _, line := range w.log.Drain(w.T) {
			counted[fmt.Sprint(line["outcome"], " ", line["reason"])]++
		}
		if counted["newer schema"] != 4 || counted["paused settings"] != 1 {
			t.Errorf("logged %v", counted)
		}
		if after := w.tokens(newer...); !cmp.Equal(before, after) {
			t.Errorf("written: %v, then %v", before, after)
		}
		other, err := function.Run(w.Context(), first("batches/0003"))
		if err != nil || other.Outcome != effect.Finished {
			t.Errorf("another: %+v, %v", other, err)
		}

		for _, path := range newer {
			ledgertest.Renumber(w.T, w.store, path, operation.SchemaVersion)
		}
		w.pass()
		if again, got := w.deliver(function); again != 0 || !cmp.Equal(got, map[effect.Outcome]int{effect.Finished: 2}) {
			t.Errorf("of the newer revision: %d again, %v", again, got)
		}
		if report, err := function.Run(w.Context(), asked); err != nil || report.Outcome != effect.Finished {
			t.Errorf("redelivered: %+v, %v", report, err)
		}
		for key, times := range w.ran {
			if times != 1 {
				t.Errorf("%s ran %d times", key, times)
			}
		}
		if len(w.ran) != 4 {
			t.Errorf("ran %v", w.ran)
		}
	})
}

func (w *line) tokens(paths ...ledger.Path) (tokens []ledger.Token) {
	w.Helper()
	snapshot, err := w.store.Get(w.Context(), paths...)
	if err != nil {
		w.Fatal(err)
	}
	for _, doc := range snapshot.Documents {
		tokens = append(tokens, doc.Token)
	}
	return tokens
}
