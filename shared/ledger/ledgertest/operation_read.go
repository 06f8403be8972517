package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// list returns the keys that f finds, page by page of two.
func (w *world) list(f ledger.Filter) []operation.Key {
	w.Helper()
	var keys []operation.Key
	for f.Limit = 2; ; {
		page, err := w.ledger().Operations.List(w.ctx, f)
		if err != nil {
			w.Fatalf("List %+v: %v", f, err)
		}
		for _, rec := range page.Items {
			keys = append(keys, rec.Key)
		}
		if n := len(page.Items) + len(page.Broken); n > f.Limit {
			w.Errorf("List %+v: a page of %d", f, n)
		}
		if page.Next.Path == "" {
			return keys
		}
		if f.After = page.Next; len(keys) > 100 {
			w.Fatal("the list does not end")
		}
	}
}

var succeeded = []operation.State{operation.Succeeded}

var operationRead = []ledgerTest{
	{"lists, by state, collection and what is waited for [L4]", func(w *world) {
		for i, raw := range []string{"batches/a", "operations/b", "batches/c", "operations/d", "batches/e"} {
			w.name = nameOf(w, raw)
			r := ledger.Registration{Name: w.name, SubmittedAt: w.start.Add(-time.Duration(i) * time.Second)}
			if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
				w.Fatal(err)
			}
			w.store.Advance(time.Second)
			if i%2 == 0 {
				w.ingest(w.event("d", operation.Succeeded, time.Second))
			}
		}
		for _, c := range []struct {
			name string
			f    ledger.Filter
			want []operation.Key
		}{
			{"all, newest first", ledger.Filter{}, []operation.Key{
				"batches/e", "operations/d", "batches/c", "operations/b", "batches/a",
			}},
			{"one state", ledger.Filter{States: succeeded}, []operation.Key{"batches/e", "batches/c", "batches/a"}},
			{"one collection", ledger.Filter{Collection: operation.Operations}, []operation.Key{"operations/d", "operations/b"}},
			{"both", ledger.Filter{States: []operation.State{operation.Pending}, Collection: operation.Batches}, nil},
			{"pending, the next first", ledger.Filter{Pending: true}, []operation.Key{"operations/d", "operations/b"}},
			{"pending of one state", ledger.Filter{Pending: true, States: []operation.State{operation.Running}}, nil},
		} {
			if got := w.list(c.f); !slices.Equal(got, c.want) {
				w.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	}},
	{"lists what has a dead effect, until it is waived or replayed [S2, G5]", func(w *world) {
		waived, replayed := nameOf(w, "batches/waived"), nameOf(w, "batches/replayed")
		for _, name := range []operation.Name{
			nameOf(w, "batches/a"), nameOf(w, "operations/b"), waived, nameOf(w, "batches/c"), replayed,
		} {
			w.name = name
			w.died()
			w.store.Advance(time.Second)
		}
		dead := func(want string, f ledger.Filter) {
			w.Helper()
			f.Dead = true
			equal(w, fmt.Sprintf("%+v", f), fmt.Sprint(w.list(f)), want)
		}
		dead("[batches/replayed batches/c batches/waived operations/b batches/a]", ledger.Filter{})
		w.replay(w.asked(publish, "m1"))
		w.name = waived
		w.waive(publish)
		w.name = nameOf(w, "batches/open")
		w.succeed()
		dead("[batches/c operations/b batches/a]", ledger.Filter{})
		dead("[batches/c batches/a]", ledger.Filter{Collection: operation.Batches})
		dead("[batches/c operations/b batches/a]", ledger.Filter{States: succeeded})
		dead("[operations/b]", ledger.Filter{States: succeeded, Collection: operation.Operations})
		dead("[]", ledger.Filter{States: []operation.State{operation.Failed}})
		w.name = replayed
		w.finish(w.granted(publish))
		dead("[batches/c operations/b batches/a]", ledger.Filter{})
		if _, err := w.ledger().Operations.List(w.ctx, ledger.Filter{Dead: true, Pending: true, Limit: 1}); err == nil {
			w.Error("pending and dead at once is no list that any index has")
		}
	}},
	{"listing dead effects costs what is dead, not what is settled [L4]", func(w *world) {
		w.died()
		for i := range 20 {
			w.name = nameOf(w, fmt.Sprint("batches/settled-", i))
			w.succeed()
			w.finish(w.granted(publish))
		}
		counting := Count(w.store)
		if page, err := w.over(counting).Operations.List(w.ctx, ledger.Filter{Dead: true, Limit: 100}); err != nil ||
			len(page.Items) != 1 {
			w.Errorf("%+v %v", page, err)
		}
		equal(w, "documents read", counting.Counts().Read, 1)
	}},
	{"lists in pages with ties", func(w *world) {
		var want []operation.Key
		for i := range 5 {
			name := nameOf(w, fmt.Sprint("batches/", i))
			state := []operation.State{operation.Pending, operation.Running}[i%2]
			rec := operation.Record{Version: 1, Key: name.Key, Name: name.Resource, State: state, CreatedAt: w.start}
			if _, err := w.store.Commit(w.ctx, ledger.Write{Path: ledger.OperationPath(name.Key), Data: rec}); err != nil {
				w.Fatal(err)
			}
			want = append([]operation.Key{name.Key}, want...)
		}
		for _, states := range [][]operation.State{nil, {operation.Pending, operation.Running}} {
			if got := w.list(ledger.Filter{States: states}); !slices.Equal(got, want) {
				w.Errorf("of %q: %q, want %q", states, got, want)
			}
		}
	}},
	{"a story is whole and in order [G4]", func(w *world) {
		w.settings.Rules = append(w.settings.Rules, ledger.Rule{Name: "started", On: []operation.State{operation.Running}})
		w.register()
		for i, state := range []operation.State{operation.Running, operation.Succeeded, operation.Running} {
			w.ingest(w.event(fmt.Sprint(9-i), state, time.Duration(i+1)*time.Second))
			w.store.Advance(time.Second)
		}
		other := w.name
		w.name = nameOf(w, "batches/abc-123/not")
		w.ingest(w.event("other", operation.Running, 0))
		w.name = other
		story := w.show()
		var got []string
		for _, d := range story.Deliveries {
			got = append(got, d.ID+" "+string(d.Outcome))
		}
		for _, e := range story.Effects {
			got = append(got, e.Name+" "+string(e.State))
		}
		want := []string{"9 applied", "8 applied", "7 dropped", "started PENDING", "publish PENDING"}
		if !slices.Equal(got, want) || story.Record.State != operation.Succeeded {
			w.Errorf("%q, want %q; the record: %+v", got, want, story.Record)
		}
	}},
	{"a long story is read to its end [G4]", func(w *world) {
		const long = 450 // more than two pages of a story
		received := w.start
		var writes []ledger.Write
		for i := range long {
			if i%3 == 0 { // with ties
				received = received.Add(time.Microsecond)
			}
			id := fmt.Sprintf("d-%04d", i)
			path := ledger.OperationPath(w.name.Key).Child(ledger.DeliveriesCollection, id)
			writes = append(writes, ledger.Write{Path: path, Data: ledger.Delivery{ID: id, ReceivedAt: received}})
		}
		for batch := range slices.Chunk(writes, 150) {
			if _, err := w.store.Commit(w.ctx, batch...); err != nil {
				w.Fatal(err)
			}
		}
		w.register()
		deliveries := w.show().Deliveries
		equal(w, "deliveries", len(deliveries), long)
		if !slices.IsSortedFunc(deliveries, func(a, b ledger.Delivery) int {
			return a.ReceivedAt.Compare(b.ReceivedAt)
		}) {
			w.Error("they are not in order")
		}
	}},
	{"a bare id means each operation that has it, also one that cannot be read [K1]", func(w *world) {
		w.register()
		w.name = nameOf(w, "operations/abc-123")
		w.register()
		w.raise(ledger.OperationPath(w.name.Key))
		for raw, want := range map[string]string{
			"abc-123": "[batches/abc-123 operations/abc-123]", "unknown": "[]", "batches/unknown": "[batches/unknown]",
		} {
			found, err := w.ledger().Operations.Find(w.ctx, nameOf(w, raw))
			if err != nil {
				w.Fatal(err)
			}
			slices.Sort(found)
			equal(w, raw, fmt.Sprint(found), want)
		}
		if found, err := w.ledger().Operations.Find(w.ctx, operation.Name{}); !errors.Is(err, operation.ErrName) {
			w.Errorf("without a name: %q, %v", found, err)
		}
	}},
	{"the operation of a delivery, by its whole id [L4]", func(w *world) {
		for i, raw := range []string{"batches/a", "operations/b"} {
			w.name = nameOf(w, raw)
			w.ingest(w.event(fmt.Sprintf("msg_%d", i), operation.Succeeded, time.Second))
			w.store.Advance(time.Second)
			w.ingest(w.event("msg_of_both", operation.Failed, time.Second)) // a sender chooses its ids
		}
		for id, want := range map[string]operation.Key{
			"msg_0": "batches/a", "msg_1": "operations/b", "msg_of_both": "operations/b", "msg_": "", "": "", "b": "",
		} {
			key, err := w.ledger().Operations.FindDelivery(w.ctx, id)
			if key != want || want == "" && !errors.Is(err, ledger.ErrNotFound) || want != "" && err != nil {
				w.Errorf("%q: %q, %v", id, key, err)
			}
		}
	}},
	{"what names nothing reads nothing [L4]", func(w *world) {
		w.register()
		counting := Count(w.store)
		l := w.over(counting)
		_, _, err := l.Effects.Read(w.ctx)
		_, intentErr := l.Intents.Of(w.ctx, w.record())
		forgetErr := l.Intents.CanForget(w.ctx, ledger.Intent{Submission: operation.Submission{CorrelationID: "c-1"}})
		equal(w, "errors", errors.Join(err, intentErr, forgetErr), nil)
		equal(w, "reads", counting.Counts().Gets, 0)
		if _, err := l.Operations.Ingest(w.ctx, w.event("d1", operation.Running, time.Second)); err != nil {
			w.Fatal(err)
		}
		equal(w, "reads of an event about a registered operation", counting.Counts().Gets, 1)
		counting.Reset()
		if _, err := l.Operations.Forget(w.ctx, w.name.Key); err != nil {
			w.Fatal(err)
		}
		equal(w, "reads that delete a record without an id, and a delivery", counting.Counts().Gets, 2)
	}},
	{"what the ledger does not know", func(w *world) {
		if _, err := w.ledger().Operations.Show(w.ctx, "batches/unknown"); !errors.Is(err, ledger.ErrNotFound) {
			w.Errorf("Show: %v, want ErrNotFound", err)
		}
		if verdict, err := w.ledger().Effects.Decline(w.ctx, "batches/unknown",
			publish); err != nil || verdict != ledger.Absent {
			w.Errorf("Peek: %s, %v", verdict, err)
		}
	}},
}
