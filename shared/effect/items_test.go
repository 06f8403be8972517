package effect_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
)

// TestEachItem: the task of one item, and what is recorded [K4].
func TestEachItem(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, lines(`{"key":"review-17","response":{"b":1,"a":"<ü>"}}`,
		`{"key":"x/y","error":{"code":3}}`)).end()
	c := newTally()
	w.run(t.Context(), c.that(succeeds), effect.Finished)
	w.stands("DONE done 2 failed 0 of 2")
	const ofFile = `{"outputFile":"files/batch-abc","inline":false,"errorCode":null,"errorMessage":null,"counts":null}`
	for item, want := range map[string]string{
		"review-17": `{"idempotencyKey":"gemini:batches/abc#publish/items/review-17","item":{"key":"review-17",` +
			`"response":{"b":1,"a":"<ü>"}},` +
			`"jobKind":"test","metadata":null,"operation":"batches/abc","result":` + ofFile + `,` +
			`"state":"SUCCEEDED"}`,
		"x/y": `{"idempotencyKey":"gemini:batches/abc#publish/items/x/y","item":{"error":{"code":3},"key":"x/y"},` +
			`"jobKind":"test","metadata":null,"operation":"batches/abc","result":` + ofFile + `,` +
			`"state":"SUCCEEDED"}`,
	} {
		if got := c.payloads["gemini:batches/abc#publish/items/"+item]; got != want || c.times[item] != 1 {
			t.Errorf("%s, %d times: %s", item, c.times[item], got)
		}
		if doc := w.item(item); doc.State != ledger.ItemDone || doc.Attempts != 1 ||
			doc.IdempotencyKey != "gemini:batches/abc#publish/items/"+item {
			t.Errorf("%+v", doc)
		}
	}
	w.run(t.Context(), c.that(succeeds), effect.Skipped)
}

// TestBadItems: items that fail do not stop the others. One that fails permanently is FAILED at
// once. Others are retried; their failures count if something else succeeds, and otherwise only
// after long enough as well. In the end the effect is DEAD because of those that FAILED [K4, S4].
func TestBadItems(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, many(250))
	w.settings.MaxAttempts = 4
	w.end()
	c := newTally()
	one := c.that(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		switch {
		case task.Item.Key == "review-3":
			return nil, effect.Permanent(errTarget)
		case task.Item.Key == "review-120":
			return nil, effect.RetryAfter(errTarget, 40*time.Minute)
		case task.Item.Key == "review-130" && task.Attempt < 2:
			panic("at the first attempt")
		}
		return nil, nil
	})
	for attempt := range 5 {
		report := w.run(t.Context(), one, effect.Failed)
		if report.RetryAfter != 40*time.Minute || !strings.Contains(report.Cause.Error(), "tried again") {
			t.Errorf("attempt %d: %+v", attempt, report)
		}
		w.run(t.Context(), one, effect.Early)
		w.store.Advance(5 * time.Hour)
	}
	report := w.run(t.Context(), one, effect.Died)
	if want := "2 of 250 items failed; the last one: item review-120"; !strings.HasPrefix(report.Cause.Error(), want) {
		t.Errorf("it died of %v, want %s", report.Cause, want)
	}
	w.stands("DEAD done 248 failed 2 of 250")
	for item, times := range map[string]int{"review-3": 1, "review-120": 6, "review-130": 2, "review-249": 1} {
		if c.times[item] != times {
			t.Errorf("%s: %d times, want %d", item, c.times[item], times)
		}
	}
	if len(c.differ) > 0 {
		t.Errorf("other bytes on another attempt: %v", c.differ)
	}
	if item := w.item("review-120"); item.State != ledger.ItemFailed || item.Attempts != 6 || item.Failures != 2 ||
		item.LastError != errTarget.Error() {
		t.Errorf("%+v", item)
	}
	if logged := w.log.String(); strings.Count(logged, "event=alert") != 1 ||
		!strings.Contains(logged, "reason=items-failed") || !strings.Contains(logged, "failed=2") {
		t.Errorf("logged %s", logged)
	}
}

// TestResultsLost: that Gemini does not have them is believed when it still says so after a day [S4].
func TestResultsLost(t *testing.T) {
	t.Parallel()
	for status, lost := range map[int]bool{
		http.StatusNotFound: true, http.StatusGone: true, http.StatusServiceUnavailable: false,
		http.StatusTooManyRequests: false,
	} {
		w := newItemsWorld(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1800")
			w.WriteHeader(status)
		})).end()
		for range 2 {
			report := w.run(t.Context(), succeeds, effect.Failed)
			if report.RetryAfter != 30*time.Minute || strings.Contains(report.Cause.Error(), "lost") {
				t.Errorf("%d: %+v", status, report)
			}
			w.store.Advance(12 * time.Hour)
		}
		if !lost {
			w.run(t.Context(), succeeds, effect.Failed)
			continue
		}
		if report := w.run(t.Context(), succeeds, effect.Died); !errors.Is(report.Cause, results.ErrNotFound) {
			t.Errorf("%d: %v", status, report.Cause)
		}
		if e := w.stands("DEAD done 0 failed 0 of 0"); !strings.HasPrefix(e.LastError, "results lost") {
			t.Errorf("%d: %s", status, e.LastError)
		}
	}
	w := newItemsWorld(t, many(1))
	w.key = "operations/video"
	w.end()
	w.run(t.Context(), succeeds, effect.Died)
}

// TestZombieItems: a worker that stalls past its lease records no item over its successor [S6].
func TestZombieItems(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, many(300)).end()
	w.run(t.Context(), func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index == 150 {
			w.store.Advance(ledger.DefaultSettings().ClaimTTL + time.Second)
			w.run(t.Context(), succeeds, effect.Finished)
		}
		if task.Item.Index < 100 { // recorded before the lease ends
			return nil, nil
		}
		return nil, effect.Permanent(errTarget)
	}, effect.LeaseLost)
	w.stands("DONE done 300 failed 0 of 300")
	if item := w.item("review-150"); item.State != ledger.ItemDone || item.Fence != 2 {
		t.Errorf("%+v", item)
	}
}

// TestOutage: a store that is down while items are recorded loses none of them.
func TestOutage(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, many(300)).end()
	c := newTally()
	commits := 0
	store := ledgertest.InjectFunc(w.store, func() ledgertest.Fault {
		commits++
		return []ledgertest.Fault{ledgertest.None, ledgertest.FailBefore, ledgertest.LoseAnswer, ledgertest.Abort,
			ledgertest.RepeatItself}[commits%5]
	})
	report, err := w.runner(store, c.that(succeeds)).Run(t.Context(), w.message())
	if err != nil || report.Outcome != effect.Finished {
		t.Fatalf("%+v %v", report, err)
	}
	w.stands("DONE done 300 failed 0 of 300")
	for item, times := range c.times {
		if times != 1 {
			t.Errorf("%s: %d times", item, times)
		}
	}
}

// TestTotalAsked: if the event has no number of items Gemini is queried, so that the progress is
// known from the first chunk. An error of that query stops
// nothing before the end.
func TestTotalAsked(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"metadata":{"batchStats":{"requestCount":"300"}}}`: "PENDING done 150 failed 0 of 300",
		`{"metadata":{}}`: "PENDING done 150 failed 0 of 0",
		"":                "PENDING done 150 failed 0 of 0",
	} {
		var asked atomic.Int64
		w := newItemsWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.Contains(r.URL.Path, "/files/"):
				many(300)(w, r)
			case answer == "" && asked.Add(1) <= 3:
				w.WriteHeader(http.StatusInternalServerError)
			default:
				_, _ = io.WriteString(w, cmp.Or(answer, "{}"))
			}
		})).end()
		ctx, cancel := context.WithCancel(t.Context())
		w.run(ctx, func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
			if task.Item.Index == 150 {
				cancel()
				return nil, ctx.Err()
			}
			return nil, nil
		}, effect.Continued)
		w.stands(want)
		if answer == "" { // what is missing is not known before Gemini answers
			report := w.run(t.Context(), succeeds, effect.Failed)
			w.stands("PENDING done 300 failed 0 of 0")
			w.store.Advance(report.RetryAfter)
		}
		w.run(t.Context(), succeeds, effect.Finished)
		w.stands("DONE done 300 failed 0 of 300")
	}
}
