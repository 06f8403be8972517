package sqlite

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// due is the query of a pass for due operations.
func due(now time.Time) ledger.Query {
	return ledger.Query{
		Collection: ledger.OperationsCollection, OrderBy: ledger.FieldDueAt, NotAfter: now, Limit: 100,
	}
}

// TestQueriesArePreparedOnce: a query with other values is the same statement, also where callers begin at once.
func TestQueriesArePreparedOnce(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 2 * readers {
		group.Go(func() {
			q := due(time.Unix(int64(i), 0))
			if _, err := store.Query(t.Context(), q); err != nil {
				t.Error(err)
			}
			if _, err := store.Count(t.Context(), q, 1); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	kept := map[any]any{}
	for text, statement := range store.queries.byText.Range {
		kept[text] = statement
	}
	if n := len(kept); n != 2 {
		t.Errorf("%d statements, want one of the query and one of the count", n)
	}
	if _, err := store.Query(t.Context(), due(time.Now())); err != nil {
		t.Fatal(err)
	}
	for text, statement := range store.queries.byText.Range {
		if kept[text] != statement {
			t.Errorf("prepared again: %s", text)
		}
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// BenchmarkQuery queries an empty ledger: what a query costs beside the documents that it finds.
func BenchmarkQuery(b *testing.B) {
	store, err := Open(b.Context(), filepath.Join(b.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := store.Query(b.Context(), due(now)); err != nil {
			b.Fatal(err)
		}
	}
}
