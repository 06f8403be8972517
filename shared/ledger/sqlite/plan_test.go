package sqlite

import (
	"context"
	"database/sql"
	"errors"
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
	p := newPlans(t, store)
	p.checkPasses(ctx)
	p.checkLists(ctx)
	t.Run("expire", func(t *testing.T) {
		rows, err := store.read.QueryContext(ctx, "EXPLAIN QUERY PLAN DELETE FROM documents WHERE expire_at <= ?", 1)
		if plan := planOf(t, rows, err); !strings.Contains(plan, "INDEX expiring (") {
			t.Errorf("deleting what expired reads everything:\n%s", plan)
		}
	})
}

// plans checks SQLite's plans of the queries that a ledger makes.
type plans struct {
	*testing.T
	store   *Store
	ledger  *ledger.Ledger
	queries []ledger.Query // since the last check
}

func newPlans(t *testing.T, store *Store) *plans {
	p := &plans{T: t, store: store}
	var err error
	if p.ledger, err = ledger.New(asked{queries: &p.queries}, ledger.DefaultSettings(), ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	return p
}

// check checks that the queries of call use index alone, on the first page and on a later one.
func (p *plans) check(name, index string, call func(l *ledger.Ledger) error) {
	p.Helper()
	p.queries = nil
	if err := call(p.ledger); err != nil {
		p.Fatalf("%s: %v", name, err)
	}
	if len(p.queries) == 0 {
		p.Fatalf("%s made no query", name)
	}
	after := ledger.Cursor{At: time.Now(), Path: "operations/a"}
	for _, q := range p.queries {
		if index == "dead" && q.Collection == ledger.EffectsCollection {
			index = "without_record" // the second query of the same list
		}
		for _, q.After = range []ledger.Cursor{{}, after} {
			plan := explain(p.T, p.store, q)
			used := strings.Contains(plan, "SEARCH documents USING INDEX "+index+" (")
			used = used && (q.After.Path == "" || strings.ContainsAny(plan, "<>"))
			if !used || strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "SCAN") {
				p.Errorf("%s (%+v) is not answered by index %s alone:\n%s", name, q, index, plan)
			}
		}
	}
}

// checkPasses checks the queries of passes, of a story and of the quarantine.
func (p *plans) checkPasses(ctx context.Context) {
	now, first := time.Now(), ledger.Cursor{}
	p.check("due operations", "due", func(l *ledger.Ledger) error {
		_, err := l.Operations.Due(ctx, now, first, 10)
		return err
	})
	p.check("due effects", "due", func(l *ledger.Ledger) error {
		_, err := l.Effects.Due(ctx, now, first, 10)
		return err
	})
	p.check("due intents", "due", func(l *ledger.Ledger) error {
		_, err := l.Intents.Due(ctx, now, first, 10)
		return err
	})
	p.check("waiting intents", "due", func(l *ledger.Ledger) error {
		_, err := l.Intents.Waiting(ctx, first, 10)
		return err
	})
	p.check("failing effects", "failing", func(l *ledger.Ledger) error {
		_, err := l.Effects.Failing(ctx, now, first, 10)
		return err
	})
	p.check("the unresolved quarantine", "unresolved", func(l *ledger.Ledger) error {
		_, err := l.Quarantine.List(ctx, ledger.QuarantineFilter{Unresolved: true, Limit: 10})
		return err
	})
	p.check("a story", "children", func(l *ledger.Ledger) error {
		_, err := l.Operations.Show(ctx, "batches/a")
		return err
	})
	p.check("the deliveries of an id", "of_delivery", func(l *ledger.Ledger) error {
		_, err := l.Operations.FindDelivery(ctx, "msg_1")
		if errors.Is(err, ledger.ErrNotFound) {
			err = nil
		}
		return err
	})
	p.check("items that wait", "waiting", func(l *ledger.Ledger) error {
		_, err := l.Items.Waiting(ctx, "batches/a", "publish", first, 10)
		return err
	})
	for _, reason := range []string{"", "malformed"} {
		p.check("the quarantine, reason "+reason, "listed", func(l *ledger.Ledger) error {
			_, err := l.Quarantine.List(ctx, ledger.QuarantineFilter{Reason: reason, Limit: 10})
			return err
		})
	}
}

// checkLists checks the queries of List and of Ends.
func (p *plans) checkLists(ctx context.Context) {
	p.check("the newest ends", "ended", func(l *ledger.Ledger) error {
		_, err := l.Operations.Ends(ctx, ledger.Cursor{}, 10)
		return err
	})
	p.check("a job kind", "of_job_kind", func(l *ledger.Ledger) error {
		_, err := l.Operations.List(ctx, ledger.Filter{JobKind: "nightly", Limit: 10})
		return err
	})
	for index, f := range map[string]ledger.Filter{
		"ended": {Without: ledger.LeftOut{Rule: ledger.Rule{Name: "publish"}, Since: time.Now()}, Limit: 10},
		"late":  {Late: time.Now(), Limit: 10}, "unregistered": {Unregistered: time.Now(), Limit: 10},
	} {
		p.check(index, index, func(l *ledger.Ledger) error {
			_, err := l.Operations.List(ctx, f)
			return err
		})
	}
	for _, since := range []time.Time{{}, time.Now()} {
		p.check("conflicts", "conflicted", func(l *ledger.Ledger) error {
			_, err := l.Operations.List(ctx, ledger.Filter{Conflict: true, Since: since, Limit: 10})
			return err
		})
	}
	for _, states := range [][]operation.State{nil, {operation.Succeeded, operation.Failed}} {
		for _, collection := range []operation.Collection{"", operation.Batches} {
			for _, f := range []ledger.Filter{{}, {Pending: true}, {Dead: true}} {
				f.States, f.Collection, f.Limit = states, collection, 10
				index := "listed"
				switch {
				case f.Pending:
					index = "due"
				case f.Dead:
					index = "dead"
				case len(states) > 0 && collection != "":
					index = "of_state_and_collection"
				case len(states) > 0:
					index = "of_state"
				case collection != "":
					index = "of_collection"
				}
				for _, f.Since = range []time.Time{{}, time.Now()} {
					p.check(fmt.Sprintf("list %+v", f), index, func(l *ledger.Ledger) error {
						_, err := l.Operations.List(ctx, f)
						return err
					})
				}
			}
		}
	}
}

func explain(t *testing.T, store *Store, q ledger.Query) string {
	t.Helper()
	text, args := store.statement(q)
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
