package items_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/itemworld"
)

// A file is a result that Gemini can delete.
type file struct {
	lines     http.Handler
	gone      atomic.Bool
	downloads atomic.Int64
}

func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.gone.Load() {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if strings.HasSuffix(r.URL.Path, ":download") {
		f.downloads.Add(1)
	}
	f.lines.ServeHTTP(w, r)
}

// reopen replays the world's effect.
func reopen(w *itemworld.World, id string) {
	w.Helper()
	m := ledger.Message{Operation: w.Key, Effect: itemworld.Name, ID: id}
	if r, err := w.Over(w.Store).Effects.Replay(context.Background(), m); err != nil || r.Outcome != ledger.Reopened {
		w.Fatalf("Replay: %+v, %v", r, err)
	}
}

// refusing is a receiver that refuses some items permanently.
func refusing(items ...string) effect.HandlerFunc {
	return func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		for _, item := range items {
			if task.Item.Key == item {
				return nil, effect.Permanent(itemworld.ErrTarget)
			}
		}
		return nil, nil
	}
}

// TestReplayOfFailedItems: a replay performs what FAILED, and nothing else, with the same keys and
// bytes: from what the ledger keeps, also after Gemini has deleted the result. Items that were too
// large to be kept come from the download, or else the result is lost [G5, K4, S4].
func TestReplayOfFailedItems(t *testing.T) {
	t.Parallel()
	large := `{"key":"large","response":"` + strings.Repeat("x", ledger.MaxKeptBytes) + `"}`
	results := itemworld.Lines(`{"key":"a","response":{"b": 1, "a":"<ü>"}}`, large, `{"key":"good","response":1}`,
		`{"key":"c","error":{"code":3}}`)
	for gone, want := range map[bool]string{
		false: "DONE done 4 failed 0 of 4", true: "DEAD done 3 failed 0 of 4",
	} {
		t.Run(fmt.Sprint("gone: ", gone), func(t *testing.T) {
			t.Parallel()
			result := &file{lines: results}
			w := itemworld.New(t, result).End()
			c := itemworld.NewTally()
			w.Run(t.Context(), c.That(refusing("a", "large", "c")), effect.Died)
			w.Stands("DEAD done 1 failed 3 of 4")
			result.gone.Store(gone)
			reopen(w, "m1")
			w.Stands("PENDING done 1 failed 0 of 4")
			if gone {
				w.Loses(t.Context(), c.That(itemworld.Succeeds))
			} else if report := w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Finished); report.Lease.Fence != 2 {
				t.Errorf("%+v", report.Lease)
			}
			e := w.Stands(want)
			again := 2
			if gone {
				again = 1
				if !strings.HasPrefix(e.LastError, "results lost") || e.Progress.Waiting() != 1 {
					t.Errorf("%s, %v", e.LastError, e.Progress.Waiting())
				}
			}
			for item, times := range map[string]int{"a": 2, "c": 2, "good": 1, "large": again} {
				if c.Times[item] != times {
					t.Errorf("%s was performed %d times, want %d", item, c.Times[item], times)
				}
			}
			if len(c.Differ) > 0 {
				t.Errorf("other bytes on another attempt: %v", c.Differ)
			}
		})
	}
}

// TestReplayOfManyFailedItems: kept items are performed without a download, and none twice, also if
// a run ends in between.
func TestReplayOfManyFailedItems(t *testing.T) {
	t.Parallel()
	result := &file{lines: itemworld.Many(230)}
	w := itemworld.New(t, result).End()
	w.Run(t.Context(), func(context.Context, effect.Task) ([]ledger.Write, error) {
		return nil,
			effect.Permanent(itemworld.ErrTarget)
	}, effect.Died)
	w.Stands("DEAD done 0 failed 230 of 230")
	reopen(w, "m1")
	c := itemworld.NewTally()
	ctx, cancel := context.WithCancel(t.Context())
	w.Run(ctx, c.That(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index == 150 {
			cancel()
		}
		return nil, nil
	}), effect.Continued)
	if p := w.Progress(); p.Done < 151 || p.Returned != 230-p.Done {
		t.Errorf("%+v", p)
	}
	w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Finished)
	w.Stands("DONE done 230 failed 0 of 230")
	for item, times := range c.Times {
		if times != 1 {
			t.Errorf("%s was performed %d times", item, times)
		}
	}
	if n := result.downloads.Load(); n != 1 {
		t.Errorf("%d downloads", n)
	}
}

// TestReplayIntoAnOutage: returned items that fail again wait like any other, and stay kept: Gemini
// has deleted the result.
func TestReplayIntoAnOutage(t *testing.T) {
	t.Parallel()
	result := &file{lines: itemworld.Many(230)}
	w := itemworld.New(t, result).End()
	w.Run(t.Context(), func(context.Context, effect.Task) ([]ledger.Write, error) {
		return nil,
			effect.Permanent(itemworld.ErrTarget)
	}, effect.Died)
	result.gone.Store(true)
	reopen(w, "m1")
	c := itemworld.NewTally()
	report := w.Run(t.Context(), c.That(itemworld.FailsWith(itemworld.ErrTarget)), effect.Failed)
	if p := w.Progress(); p.Waiting() != 150 || p.Returned != 80 || p.Failed != 0 {
		t.Errorf("%+v", p)
	}
	w.Store.Advance(report.RetryAfter)
	w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Finished)
	w.Stands("DONE done 230 failed 0 of 230")
	if len(c.Times) != 230 || len(c.Differ) > 0 {
		t.Errorf("%d items were performed, with other bytes: %v", len(c.Times), c.Differ)
	}
}

// TestReplayOfALostRest: if Gemini has deleted a result that was not read to its end, kept items
// are still performed.
func TestReplayOfALostRest(t *testing.T) {
	t.Parallel()
	result := &file{lines: itemworld.Many(300)}
	w := itemworld.New(t, result).End()
	ctx, cancel := context.WithCancel(t.Context())
	w.Run(ctx, func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		switch task.Item.Index {
		case 7:
			return nil, effect.Permanent(itemworld.ErrTarget)
		case 150:
			cancel()
		}
		return nil, nil
	}, effect.Continued)
	result.gone.Store(true)
	w.Loses(t.Context(), itemworld.Succeeds)
	reopen(w, "m1")
	c := itemworld.NewTally()
	w.Loses(t.Context(), c.That(itemworld.Succeeds))
	if e := w.Stands(fmt.Sprintf("DEAD done %d failed 0 of 0", w.Progress().Next)); !strings.HasPrefix(e.LastError,
		"results lost") {
		t.Error(e.LastError)
	}
	if len(c.Times) != 1 || c.Times["review-7"] != 1 {
		t.Errorf("%v", c.Times)
	}
}
