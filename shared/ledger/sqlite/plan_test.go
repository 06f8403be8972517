package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An asked is a store that keeps its queries, and finds nothing but one record.
type asked struct {
	ledger.Store
	queries *[]ledger.Query
}

func (a asked) Query(_ context.Context, q ledger.Query) ([]ledger.Document, error) {
	*a.queries = append(*a.queries, q)
	return nil, nil
}

func (a asked) Get(_ context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	doc := ledger.NewDocument(paths[0], "1", func(any) error { return nil })
	return ledger.Snapshot{Documents: []ledger.Document{doc}}, nil
}

// TestEveryQueryUsesItsIndex asks SQLite for its plan of each query of the ledger: it must use the
// index made for it, without sorting. So reading what is due never touches what is settled [L4].
func TestEveryQueryUsesItsIndex(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, err := Open(ctx, filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	var queries []ledger.Query
	l, err := ledger.New(asked{queries: &queries}, ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	after := ledger.Cursor{At: time.Now(), Path: "operations/a"}
	check := func(name, index string, ask func() error) {
		t.Helper()
		queries = nil
		if err := ask(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(queries) == 0 {
			t.Fatalf("%s asked nothing", name)
		}
		for _, q := range queries {
			// Of each shape the first page and the pages behind it.
			q.After = ledger.Cursor{}
			for _, q.After = range []ledger.Cursor{{}, after} {
				plan := explain(t, store, q)
				if !strings.Contains(plan, "SEARCH documents USING INDEX "+index+" (") || strings.Contains(plan, "TEMP B-TREE") {
					t.Errorf("%s (%+v) is not answered by index %s alone:\n%s", name, q, index, plan)
				}
			}
		}
	}
	check("due operations", "due", func() error {
		_, err := l.DueOperations(ctx, time.Now(), ledger.Cursor{}, 10)
		return err
	})
	check("due effects", "due", func() error {
		_, err := l.DueEffects(ctx, time.Now(), ledger.Cursor{}, 10)
		return err
	})
	check("due intents", "due", func() error {
		_, err := l.DueIntents(ctx, time.Now(), ledger.Cursor{}, 10)
		return err
	})
	check("open intents", "due", func() error {
		_, err := l.WaitingIntents(ctx, ledger.Cursor{}, 10)
		return err
	})
	check("a story", "children", func() error {
		_, err := l.Show(ctx, "batches/a")
		return err
	})
	for _, reason := range []string{"", "malformed"} {
		check("the quarantine, reason "+reason, "listed", func() error {
			_, err := l.ListQuarantined(ctx, ledger.QuarantineFilter{Reason: reason, Limit: 10})
			return err
		})
	}
	for _, state := range []operation.State{"", operation.Succeeded} {
		for _, collection := range []operation.Collection{"", operation.Batches} {
			for _, f := range []ledger.Filter{{}, {Pending: true}, {Dead: true}} {
				f.State, f.Collection, f.Limit = state, collection, 10
				index := "listed"
				if f.Pending {
					index = "due"
				}
				check(fmt.Sprintf("list %+v", f), index, func() error {
					_, err := l.List(ctx, f)
					return err
				})
			}
		}
	}
	t.Run("expire", func(t *testing.T) {
		rows, err := store.read.QueryContext(ctx, "EXPLAIN QUERY PLAN DELETE FROM documents WHERE expire_at <= ?", 1)
		if plan := planOf(t, rows, err); !strings.Contains(plan, "INDEX expiring (") {
			t.Errorf("deleting what expired reads everything:\n%s", plan)
		}
	})
}

func explain(t *testing.T, store *Store, q ledger.Query) string {
	t.Helper()
	text, args := statement(q)
	rows, err := store.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, args...)
	return planOf(t, rows, err)
}

func planOf(t *testing.T, rows *sql.Rows, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&plan, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
