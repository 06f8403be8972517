package ledgertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

// find returns the paths that q finds, page by page of one document more each time, so that cursors
// are at every document.
func (d desk) find(q ledger.Query) []ledger.Path {
	d.Helper()
	var paths []ledger.Path
	for q.Limit = 1; ; q.Limit++ {
		page, err := d.store.Query(d.Context(), q)
		if err != nil {
			d.Fatalf("Query %+v: %v", q, err)
		}
		if len(page) > q.Limit {
			d.Fatalf("Query found %d documents, the limit is %d", len(page), q.Limit)
		}
		for _, doc := range page {
			var n note
			if err := doc.Decode(&n); err != nil {
				d.Fatal(err)
			}
			paths = append(paths, doc.Path)
			q.After = ledger.Cursor{At: n.DueAt, Path: doc.Path}
			switch q.OrderBy {
			case ledger.FieldCreatedAt:
				q.After.At = n.CreatedAt
			case ledger.FieldSettledAt:
				q.After.At = n.SettledAt
			}
			if !doc.At.Equal(q.After.At) {
				d.Errorf("%s was found by %v, and says that it was by %v", doc.Path, q.After.At, doc.At)
			}
		}
		if len(page) < q.Limit {
			return paths
		}
		if len(paths) > 100 {
			d.Fatal("the query does not end")
		}
	}
}

func (d desk) wantFound(q ledger.Query, want ...ledger.Path) {
	d.Helper()
	if got := d.find(q); !slices.Equal(got, want) {
		d.Errorf("found %q, want %q", got, want)
	}
}

func effectOf(key operation.Key, name string) ledger.Path { return ledger.EffectPath(key, name) }

var (
	byDue     = ledger.Query{Collection: ledger.EffectsCollection, OrderBy: ledger.FieldDueAt}
	byCreated = ledger.Query{Collection: ledger.OperationsCollection, OrderBy: ledger.FieldCreatedAt}
)

var queryTests = []storeTest{
	onDesk("nothing to find", func(d desk) {
		d.put(pathA, note{DueAt: noon})
		d.wantFound(byDue)
	}),
	onDesk("due order, ties by path, across pages [L4]", func(d desk) {
		// Written in an order that no query asks for.
		for i, at := range map[string]int{"d": 1, "b": 1, "e": 2, "c": 1, "a": 1, "z": 0} {
			d.put(effectOf("batches/a", i), note{DueAt: minute(at)})
		}
		want := []ledger.Path{}
		for _, name := range []string{"z", "a", "b", "c", "d", "e"} {
			want = append(want, effectOf("batches/a", name))
		}
		d.wantFound(byDue, want...)
	}),
	onDesk("paths in the order of their segments", func(d desk) {
		// As texts "a-b/effects/x" is before "a/effects/x", because '-' is before '/'.
		want := []ledger.Path{
			effectOf(
				"a", "x",
			), effectOf("a", "y"), effectOf("a!", "x"), effectOf("a-b", "x"), effectOf("a.b", "x"), effectOf("b", "a"),
		}
		for _, i := range []int{3, 0, 5, 2, 4, 1} {
			d.put(want[i], note{DueAt: noon})
		}
		d.wantFound(byDue, want...)
	}),
	onDesk("descending, ties by path descending, across pages", func(d desk) {
		paths := map[string]ledger.Path{}
		for name, at := range map[string]int{"a": 1, "b": 2, "c": 2, "d": 3} {
			paths[name] = ledger.OperationPath(operation.Key(name))
			d.put(paths[name], note{CreatedAt: minute(at)})
		}
		q := byCreated
		q.Descending = true
		d.wantFound(q, paths["d"], paths["c"], paths["b"], paths["a"])
	}),
	onDesk("a microsecond makes an order", func(d desk) {
		first, second := effectOf("b", "x"), effectOf("a", "x")
		d.put(second, note{DueAt: noon.Add(time.Microsecond)})
		d.put(first, note{DueAt: noon})
		d.wantFound(byDue, first, second)
	}),
	onDesk("NotAfter includes its own instant", func(d desk) {
		for i := range 4 {
			d.put(effectOf("a", fmt.Sprint(i)), note{DueAt: minute(i)})
		}
		q := byDue
		q.NotAfter = minute(2)
		d.wantFound(q, effectOf("a", "0"), effectOf("a", "1"), effectOf("a", "2"))
		q.NotAfter = minute(2).Add(-time.Microsecond)
		d.wantFound(q, effectOf("a", "0"), effectOf("a", "1"))
	}),
	onDesk("NotBefore includes its own instant", func(d desk) {
		for i := range 4 {
			d.put(effectOf("a", fmt.Sprint(i)), note{DueAt: minute(i)})
		}
		q := byDue
		q.NotBefore = minute(1)
		d.wantFound(q, effectOf("a", "1"), effectOf("a", "2"), effectOf("a", "3"))
		q.NotBefore, q.NotAfter = minute(1).Add(time.Microsecond), minute(2)
		d.wantFound(q, effectOf("a", "2"))
	}),
	onDesk("settled times, with more digits and with less", func(d desk) {
		first := time.Date(2026, 1, 1, 12, 0, 9, 0, time.UTC)
		var want []ledger.Path
		for i, later := range []time.Duration{
			0, time.Microsecond, 10 * time.Microsecond, 120 * time.Millisecond, 123 * time.Millisecond, 500 * time.Millisecond,
			time.Second, time.Minute,
		} {
			path := ledger.OperationPath(operation.Key(fmt.Sprint(9 - i))) // in another order
			want = append(want, path)
			d.put(path, note{SettledAt: first.Add(later)})
		}
		q := ledger.Query{Collection: ledger.OperationsCollection, OrderBy: ledger.FieldSettledAt}
		d.wantFound(q, want...)
		q.NotBefore, q.NotAfter = first.Add(10*time.Microsecond), first.Add(500*time.Millisecond)
		d.wantFound(q, want[2:6]...)
		q = ledger.Query{Collection: q.Collection, OrderBy: q.OrderBy, Descending: true}
		slices.Reverse(want)
		d.wantFound(q, want...)
	}),
	onDesk("a cursor whose document has moved on skips nothing [R6]", func(d desk) {
		for i := range 4 {
			d.put(effectOf("a", fmt.Sprint(i)), note{DueAt: minute(i)})
		}
		q := byDue
		q.After = ledger.Cursor{At: minute(1), Path: effectOf("a", "1")}
		moved := d.get(effectOf("a", "1"))
		d.commit(ledger.Write{Path: moved.Path, Token: moved.Token, Data: note{DueAt: minute(60)}})
		d.wantFound(q, effectOf("a", "2"), effectOf("a", "3"), effectOf("a", "1"))
		gone := d.get(effectOf("a", "1"))
		d.commit(ledger.Write{Path: gone.Path, Token: gone.Token})
		d.wantFound(q, effectOf("a", "2"), effectOf("a", "3"))
	}),
	onDesk("Where on text and on bool", func(d desk) {
		want := ledger.OperationPath("wanted")
		d.put(want, note{CreatedAt: noon, State: "RUNNING", Registered: true})
		d.put(ledger.OperationPath("other state"), note{CreatedAt: noon, State: "PENDING", Registered: true})
		d.put(ledger.OperationPath("other case"), note{CreatedAt: noon, State: "running", Registered: true})
		d.put(ledger.OperationPath("no state"), note{CreatedAt: noon, Registered: true})
		d.put(ledger.OperationPath("not registered"), note{CreatedAt: noon, State: "RUNNING"})
		q := byCreated
		q.Where = []ledger.Equal{{Field: "state", Value: "RUNNING"}, {Field: "registered", Value: true}}
		d.wantFound(q, want)
		q.Where = []ledger.Equal{{Field: "registered", Value: false}}
		d.wantFound(q, ledger.OperationPath("not registered"))
		q.Where = []ledger.Equal{{Field: "state", Value: "it's \"quoted\""}}
		d.wantFound(q)
	}),
	onDesk("Where across pages, descending", func(d desk) {
		var want []ledger.Path
		for i := range 9 {
			path := ledger.OperationPath(operation.Key(fmt.Sprint(i)))
			state := []string{"PENDING", "RUNNING"}[i%2]
			d.put(path, note{CreatedAt: minute(i / 4), State: state})
			if i%2 == 1 {
				want = append([]ledger.Path{path}, want...)
			}
		}
		q := byCreated
		q.Descending = true
		q.Where = []ledger.Equal{{Field: "state", Value: "RUNNING"}}
		d.wantFound(q, want...)
	}),
	onDesk("under one document, or wherever they are", func(d desk) {
		mine, other := effectOf("a", "x"), effectOf("b", "x")
		d.put(other, note{DueAt: noon, CreatedAt: noon})
		d.put(mine, note{DueAt: noon, CreatedAt: noon})
		d.put(ledger.OperationPath("a").Child(ledger.DeliveriesCollection, "x"), note{DueAt: noon, CreatedAt: noon})
		d.put(ledger.OperationPath("a"), note{DueAt: noon, CreatedAt: noon})
		d.put(ledger.OperationPath("effects"), note{DueAt: noon, CreatedAt: noon})
		d.wantFound(byDue, mine, other)
		q := byDue
		q.Under = ledger.OperationPath("a")
		d.wantFound(q, mine)
		q.OrderBy = ledger.FieldCreatedAt
		d.wantFound(q, mine)
		q.Under = ledger.OperationPath("unknown")
		d.wantFound(q)
	}),
	onDesk("Under does not match a longer name", func(d desk) {
		d.put(effectOf("a", "x"), note{CreatedAt: noon})
		d.put(effectOf("a-b", "x"), note{CreatedAt: noon})
		d.put(effectOf("a/b", "x"), note{CreatedAt: noon})
		q := ledger.Query{
			Collection: ledger.EffectsCollection, Under: ledger.OperationPath("a"), OrderBy: ledger.FieldCreatedAt,
		}
		d.wantFound(q, effectOf("a", "x"))
	}),
	onDesk("a document without the field is not found", func(d desk) {
		d.put(effectOf("a", "x"), note{CreatedAt: noon})
		d.put(effectOf("a", "y"), note{DueAt: noon})
		d.wantFound(byDue, effectOf("a", "y"))
	}),
}
