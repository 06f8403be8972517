package items_test

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
	"github.com/opledger/opledger/test/itemworld"
)

// TestEachItem: the task of one item, and what is recorded [K4].
func TestEachItem(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Lines(`{"key":"review-17","response":{"b":1,"a":"<ü>"}}`,
		`{"key":"x/y","error":{"code":3}}`)).End()
	c := itemworld.NewTally()
	w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Finished)
	w.Stands("DONE done 2 failed 0 of 2")
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
		if got := c.Payloads["gemini:batches/abc#publish/items/"+item]; got != want || c.Times[item] != 1 {
			t.Errorf("%s, %d times: %s", item, c.Times[item], got)
		}
		if doc := w.Item(item); doc.State != ledger.ItemDone || doc.Attempts != 1 ||
			doc.IdempotencyKey != "gemini:batches/abc#publish/items/"+item {
			t.Errorf("%+v", doc)
		}
	}
	w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Skipped)
}

// TestBadItems: items that fail do not stop the others. One that fails permanently is FAILED at
// once. Others are retried; their failures count if something else itemworld.Succeeds, and otherwise only
// after long enough as well. In the end the effect is DEAD because of those that FAILED [K4, S4].
func TestBadItems(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(250))
	w.Settings.MaxAttempts = 4
	w.End()
	c := itemworld.NewTally()
	one := c.That(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		switch {
		case task.Item.Key == "review-3":
			return nil, effect.Permanent(itemworld.ErrTarget)
		case task.Item.Key == "review-120":
			return nil, effect.RetryAfter(itemworld.ErrTarget, 40*time.Minute)
		case task.Item.Key == "review-130" && task.Attempt < 2:
			panic("at the first attempt")
		}
		return nil, nil
	})
	for attempt := range 5 {
		report := w.Run(t.Context(), one, effect.Failed)
		if report.RetryAfter != 40*time.Minute || !strings.Contains(report.Cause.Error(), "tried again") {
			t.Errorf("attempt %d: %+v", attempt, report)
		}
		w.Run(t.Context(), one, effect.Early)
		w.Store.Advance(5 * time.Hour)
	}
	report := w.Run(t.Context(), one, effect.Died)
	if want := "2 of 250 items failed; the last one: item review-120"; !strings.HasPrefix(report.Cause.Error(), want) {
		t.Errorf("it died of %v, want %s", report.Cause, want)
	}
	w.Stands("DEAD done 248 failed 2 of 250")
	for item, times := range map[string]int{"review-3": 1, "review-120": 6, "review-130": 2, "review-249": 1} {
		if c.Times[item] != times {
			t.Errorf("%s: %d times, want %d", item, c.Times[item], times)
		}
	}
	if len(c.Differ) > 0 {
		t.Errorf("other bytes on another attempt: %v", c.Differ)
	}
	if item := w.Item("review-120"); item.State != ledger.ItemFailed || item.Attempts != 6 || item.Failures != 2 ||
		item.LastError != itemworld.ErrTarget.Error() {
		t.Errorf("%+v", item)
	}
	if logged := w.Logged.String(); strings.Count(logged, "event=alert") != 1 ||
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
		w := itemworld.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1800")
			w.WriteHeader(status)
		})).End()
		for range 2 {
			report := w.Run(t.Context(), itemworld.Succeeds, effect.Failed)
			if report.RetryAfter != 30*time.Minute || strings.Contains(report.Cause.Error(), "lost") {
				t.Errorf("%d: %+v", status, report)
			}
			w.Store.Advance(12 * time.Hour)
		}
		if !lost {
			w.Run(t.Context(), itemworld.Succeeds, effect.Failed)
			continue
		}
		if report := w.Run(t.Context(), itemworld.Succeeds, effect.Died); !errors.Is(report.Cause, results.ErrNotFound) {
			t.Errorf("%d: %v", status, report.Cause)
		}
		if e := w.Stands("DEAD done 0 failed 0 of 0"); !strings.HasPrefix(e.LastError, "results lost") {
			t.Errorf("%d: %s", status, e.LastError)
		}
	}
	w := itemworld.New(t, itemworld.Many(1))
	w.Key = "operations/video"
	w.End()
	w.Run(t.Context(), itemworld.Succeeds, effect.Died)
}

// TestZombieItems: a worker that stalls past its lease records no item over its successor [S6].
func TestZombieItems(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(300)).End()
	w.Run(t.Context(), func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index == 150 {
			w.Store.Advance(ledger.DefaultSettings().ClaimTTL + time.Second)
			w.Run(t.Context(), itemworld.Succeeds, effect.Finished)
		}
		if task.Item.Index < 100 { // recorded before the lease ends
			return nil, nil
		}
		return nil, effect.Permanent(itemworld.ErrTarget)
	}, effect.LeaseLost)
	w.Stands("DONE done 300 failed 0 of 300")
	if item := w.Item("review-150"); item.State != ledger.ItemDone || item.Fence != 2 {
		t.Errorf("%+v", item)
	}
}

// TestOutage: a store that is down while items are recorded loses none of them.
func TestOutage(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(300)).End()
	c := itemworld.NewTally()
	commits := 0
	store := ledgertest.InjectFunc(w.Store, func() ledgertest.Fault {
		commits++
		return []ledgertest.Fault{ledgertest.None, ledgertest.FailBefore, ledgertest.LoseAnswer, ledgertest.Abort,
			ledgertest.RepeatItself}[commits%5]
	})
	report, err := w.Runner(store, c.That(itemworld.Succeeds)).Run(t.Context(), w.Message())
	if err != nil || report.Outcome != effect.Finished {
		t.Fatalf("%+v %v", report, err)
	}
	w.Stands("DONE done 300 failed 0 of 300")
	for item, times := range c.Times {
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
		w := itemworld.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.Contains(r.URL.Path, "/files/"):
				itemworld.Many(300)(w, r)
			case answer == "" && asked.Add(1) <= 3:
				w.WriteHeader(http.StatusInternalServerError)
			default:
				_, _ = io.WriteString(w, cmp.Or(answer, "{}"))
			}
		})).End()
		ctx, cancel := context.WithCancel(t.Context())
		w.Run(ctx, func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
			if task.Item.Index == 150 {
				cancel()
				return nil, ctx.Err()
			}
			return nil, nil
		}, effect.Continued)
		w.Stands(want)
		if answer == "" { // what is missing is not known before Gemini answers
			report := w.Run(t.Context(), itemworld.Succeeds, effect.Failed)
			w.Stands("PENDING done 300 failed 0 of 0")
			w.Store.Advance(report.RetryAfter)
		}
		w.Run(t.Context(), itemworld.Succeeds, effect.Finished)
		w.Stands("DONE done 300 failed 0 of 300")
	}
}
