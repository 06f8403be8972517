package effect_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/operation"
)

// TestWaitingItemIsGone: an item that waits and is not in the result any more fails the attempt, which
// says so. The others are done [K4].
func TestWaitingItemIsGone(t *testing.T) {
	t.Parallel()
	result := &shuffled{lines: numbered(3)}
	w := newItemsWorld(t, result).end()
	w.run(t.Context(), failsWith(errTarget), effect.Failed)
	w.store.Advance(time.Hour)
	result.lines = numbered(3)[1:]
	report := w.run(t.Context(), succeeds, effect.Failed)
	if !strings.Contains(report.Cause.Error(), "lacks 1 items that failed before") {
		t.Errorf("K4: %v", report.Cause)
	}
	w.stands("PENDING done 2 failed 0 of 3")
}

// TestRepeatedKey: of two items with one key one is performed. The effect is DEAD, and says what to do:
// nothing tells which of them answers the request [K4].
func TestRepeatedKey(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, lines(append(numbered(3), `{"key":"k-1","response":"x"}`)...)).end()
	for replay := range 2 {
		c := newTally()
		report := w.run(t.Context(), c.that(succeeds), effect.Died)
		text := report.Cause.Error()
		if !strings.Contains(text, "1 items have a key that another item of the result has, k-1") {
			t.Errorf("K4: %s", text)
		}
		c.each(t, 3*(1-replay), 1)
		w.stands("DEAD done 3 failed 0 of 4")
		if logged := w.log.String(); !strings.Contains(logged, "event=alert reason=items-failed") ||
			!strings.Contains(logged, "repeated=1") {
			t.Errorf("K4: logged %s", logged)
		}
		w.reopen(fmt.Sprint("m", replay)) // which does not make it whole
	}
}

// TestUnkeyedItems: items without a key are not performed, and the effect is DEAD and says which
// submission has none; by position they are, where that is asked for [K4].
func TestUnkeyedItems(t *testing.T) {
	t.Parallel()
	texts := []string{`{"key":"a","response":1}`, `{"response":2}`, `null`}
	w := newItemsWorld(t, lines(texts...)).end()
	c := newTally()
	report := w.run(t.Context(), c.that(succeeds), effect.Died)
	for _, want := range []string{`2 of 3 items of batches/abc (job kind "test") have no key`, "unkeyed: by-position"} {
		if !strings.Contains(report.Cause.Error(), want) {
			t.Errorf("K4: %v", report.Cause)
		}
	}
	w.stands("DEAD done 1 failed 0 of 3")
	if len(c.times) != 1 || c.times["a"] != 1 {
		t.Errorf("K4: performed %v", c.times)
	}
	w.reopen("m1")
	w.byPosition = true
	w.run(t.Context(), c.that(succeeds), effect.Finished)
	w.stands("DONE done 3 failed 0 of 3")
	if fmt.Sprint(c.times) != "map[a:1 index-1:1 index-2:1]" {
		t.Errorf("K4: performed %v", c.times)
	}
}

// TestMissingItems: a result that is short is read again before its end is believed. Short twice, with
// the same keys, it is DEAD and says how many are missing. Never is it DONE [K4, S4].
func TestMissingItems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		second, third int
		dies          int // the attempt
	}{
		"whole the second time": {10, 10, 0}, "short twice": {8, 10, 2}, "longer each time": {9, 9, 3},
	} {
		var read atomic.Int64
		w := newItemsWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := []int{8, c.second, c.third}[min(int(read.Add(1)), 3)-1]
			lines(numbered(10)[:n]...)(w, r)
		}))
		w.result.Counts = &operation.Counts{Total: 10}
		w.end()
		tally := newTally()
		for attempt := 1; ; attempt++ {
			report, err := w.runner(w.store, tally.that(succeeds)).Run(t.Context(), w.message())
			if err != nil {
				t.Fatal(err)
			}
			w.store.Advance(report.RetryAfter)
			if report.Outcome == effect.Failed {
				continue
			}
			if died := report.Outcome == effect.Died; died != (c.dies == attempt) {
				t.Errorf("K4: %s: attempt %d: %+v", name, attempt, report)
			}
			if text := fmt.Sprint(report.Cause); c.dies > 0 && !strings.Contains(text,
				fmt.Sprintf("%d missing", 10-len(tally.times))) {
				t.Errorf("K4: %s: %s", name, text)
			}
			break
		}
		tally.each(t, map[int]int{0: 10, 2: 8, 3: 9}[c.dies], 1)
		if alerts := strings.Count(w.log.String(), "event=alert"); alerts != min(c.dies, 1) {
			t.Errorf("K4: %s: logged %s", name, w.log)
		}
	}
}
