package effect_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestResults: each item becomes a document, a large one fails alone, and a rerun replaces what was
// written.
func TestResults(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, lines(
		`{"key":"review-17","response":{"text":"<good>"}}`, `{"key":"b","error":{"code":3}}`,
		`{"key":"large","response":"`+strings.Repeat("x", 1<<20)+`"}`, `{"key":"a/b","response":1}`,
	)).end()
	stale := ledger.Write{Path: ledger.ResultPath("reviews", w.key, "b"), Data: effect.ItemResult{Key: "stale"}}
	if _, err := w.store.Commit(t.Context(), stale); err != nil {
		t.Fatal(err)
	}
	report, err := w.runner(w.store, effect.Results("reviews")).Run(t.Context(), w.message())
	if err != nil || report.Outcome != effect.Died {
		t.Fatalf("%+v %v", report, err)
	}
	w.stands("DEAD done 3 failed 1 of 4")
	for item, want := range map[string]effect.ItemResult{
		"review-17": {Index: 0, Response: `{"text":"<good>"}`}, "b": {Index: 1, Error: `{"code":3}`}, "a/b": {Index: 3,
			Response: "1"},
	} {
		want.Schema, want.Operation, want.JobKind, want.Key = operation.SchemaVersion, w.key, "test", item
		want.IdempotencyKey = "gemini:batches/abc#publish/items/" + item
		var got effect.ItemResult
		if w.read(ledger.ResultPath("reviews", w.key, item), &got); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if path := ledger.ResultPath("reviews", w.key, "review-17"); path != "reviews/batches:abc:review-17" {
		t.Errorf("path %s", path)
	}
	if item := w.item("large"); item.State != ledger.ItemFailed || item.Response != "" ||
		!item.FetchableUntil.After(time.Now()) {
		t.Errorf("%+v", item)
	}
}

// TestNoAPIKey: without an API key an effect per item fails with that error, and is retried.
func TestNoAPIKey(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, many(1))
	w.client = nil
	w.end()
	if report := w.run(t.Context(), succeeds, effect.Failed); !errors.Is(report.Cause, effect.ErrNoAPIKey) {
		t.Errorf("%v", report.Cause)
	}
}
