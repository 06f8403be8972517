package results_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/items"
	"github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/itemworld"
)

// TestResults: each item becomes a document, a large one fails alone, and a rerun replaces what was
// written.
func TestResults(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Lines(
		`{"key":"review-17","response":{"text":"<good>"}}`, `{"key":"b","error":{"code":3}}`,
		`{"key":"large","response":"`+strings.Repeat("x", 1<<20)+`"}`, `{"key":"a/b","response":1}`,
	)).End()
	stale := ledger.Write{Path: ledger.ResultPath("reviews", w.Key, "b"), Data: results.ItemResult{Key: "stale"}}
	if _, err := w.Store.Commit(t.Context(), stale); err != nil {
		t.Fatal(err)
	}
	report, err := w.Runner(w.Store, results.Documents("reviews")).Run(t.Context(), w.Message())
	if err != nil || report.Outcome != effect.Died {
		t.Fatalf("%+v %v", report, err)
	}
	w.Stands("DEAD done 3 failed 1 of 4")
	for item, want := range map[string]results.ItemResult{
		"review-17": {Index: 0, Response: `{"text":"<good>"}`}, "b": {Index: 1, Error: `{"code":3}`}, "a/b": {Index: 3,
			Response: "1"},
	} {
		want.Schema, want.Operation, want.JobKind, want.Key = operation.SchemaVersion, w.Key, "test", item
		want.IdempotencyKey = "gemini:batches/abc#publish/items/" + item
		var got results.ItemResult
		if w.Read(ledger.ResultPath("reviews", w.Key, item), &got); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if path := ledger.ResultPath("reviews", w.Key, "review-17"); path != "reviews/batches:abc:review-17" {
		t.Errorf("path %s", path)
	}
	if item := w.Item("large"); item.State != ledger.ItemFailed || item.Response != "" ||
		!item.FetchableUntil.After(time.Now()) {
		t.Errorf("%+v", item)
	}
}

// TestNoAPIKey: without an API key an effect per item fails with that error, and is retried.
func TestNoAPIKey(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(1))
	w.Client = nil
	w.End()
	if report := w.Run(t.Context(), itemworld.Succeeds, effect.Failed); !errors.Is(report.Cause, items.ErrNoAPIKey) {
		t.Errorf("%v", report.Cause)
	}
}
