package items_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/itemworld"
)

// TestWaitingItemIsGone: an item that waits and is not in the result any more fails the attempt, which
// says so. The others are done [K4].
func TestWaitingItemIsGone(t *testing.T) {
	t.Parallel()
	result := &itemworld.Shuffled{Lines: itemworld.Numbered(3)}
	w := itemworld.New(t, result).End()
	w.Run(t.Context(), itemworld.FailsWith(itemworld.ErrTarget), effect.Failed)
	w.Store.Advance(time.Hour)
	result.Lines = itemworld.Numbered(3)[1:]
	report := w.Run(t.Context(), itemworld.Succeeds, effect.Failed)
	if !strings.Contains(report.Cause.Error(), "lacks 1 items that failed before") {
		t.Errorf("K4: %v", report.Cause)
	}
	w.Stands("PENDING done 2 failed 0 of 3")
}

// TestRepeatedKey: of two items with one key one is performed. The effect is DEAD, and says what to do:
// nothing tells which of them answers the request [K4].
func TestRepeatedKey(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Lines(append(itemworld.Numbered(3), `{"key":"k-1","response":"x"}`)...)).End()
	for replay := range 2 {
		c := itemworld.NewTally()
		report := w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Died)
		text := report.Cause.Error()
		if !strings.Contains(text, "1 items have a key that another item of the result has, k-1") {
			t.Errorf("K4: %s", text)
		}
		each(c, t, 3*(1-replay), 1)
		w.Stands("DEAD done 3 failed 0 of 4")
		if logged := w.Logged.String(); !strings.Contains(logged, "event=alert reason=items-failed") ||
			!strings.Contains(logged, "repeated=1") {
			t.Errorf("K4: logged %s", logged)
		}
		reopen(w, fmt.Sprint("m", replay)) // which does not make it whole
	}
}

// TestUnkeyedItems: items without a key are not performed, and the effect is DEAD and says which
// submission has none; by position they are, where that is asked for [K4].
func TestUnkeyedItems(t *testing.T) {
	t.Parallel()
	texts := []string{`{"key":"a","response":1}`, `{"response":2}`, `null`}
	w := itemworld.New(t, itemworld.Lines(texts...)).End()
	c := itemworld.NewTally()
	report := w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Died)
	for _, want := range []string{`2 of 3 items of batches/abc (job kind "test") have no key`, "unkeyed: by-position"} {
		if !strings.Contains(report.Cause.Error(), want) {
			t.Errorf("K4: %v", report.Cause)
		}
	}
	w.Stands("DEAD done 1 failed 0 of 3")
	if len(c.Times) != 1 || c.Times["a"] != 1 {
		t.Errorf("K4: performed %v", c.Times)
	}
	reopen(w, "m1")
	w.ByPosition = true
	w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Finished)
	w.Stands("DONE done 3 failed 0 of 3")
	if fmt.Sprint(c.Times) != "map[a:1 index-1:1 index-2:1]" {
		t.Errorf("K4: performed %v", c.Times)
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
		w := itemworld.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := []int{8, c.second, c.third}[min(int(read.Add(1)), 3)-1]
			itemworld.Lines(itemworld.Numbered(10)[:n]...)(w, r)
		}))
		w.Result.Counts = &operation.Counts{Total: 10}
		w.End()
		tally := itemworld.NewTally()
		for attempt := 1; ; attempt++ {
			report, err := w.Runner(w.Store, tally.That(itemworld.Succeeds)).Run(t.Context(), w.Message())
			if err != nil {
				t.Fatal(err)
			}
			w.Store.Advance(report.RetryAfter)
			if report.Outcome == effect.Failed {
				continue
			}
			if died := report.Outcome == effect.Died; died != (c.dies == attempt) {
				t.Errorf("K4: %s: attempt %d: %+v", name, attempt, report)
			}
			if text := fmt.Sprint(report.Cause); c.dies > 0 && !strings.Contains(text,
				fmt.Sprintf("%d missing", 10-len(tally.Times))) {
				t.Errorf("K4: %s: %s", name, text)
			}
			break
		}
		each(tally, t, map[int]int{0: 10, 2: 8, 3: 9}[c.dies], 1)
		if alerts := strings.Count(w.Logged.String(), "event=alert"); alerts != min(c.dies, 1) {
			t.Errorf("K4: %s: logged %s", name, w.Logged)
		}
	}
}
