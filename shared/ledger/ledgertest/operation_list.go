package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// many registers n operations, a second apart: nightly ones and others in turn, and in turn pending,
// SUCCEEDED, and FAILED.
func (w *world) many(n int) {
	w.Helper()
	for i := range n {
		w.name = nameOf(w, fmt.Sprintf("batches/n%02d", i))
		kind := []string{"nightly-a", "other"}[i%2]
		if _, err := w.ledger().Operations.Register(w.ctx, ledger.Registration{
			Name: w.name, Submission: operation.Submission{JobKind: kind},
		}); err != nil {
			w.Fatal(err)
		}
		if state := []operation.State{"", operation.Succeeded, operation.Failed}[i%3]; state != "" {
			w.ingest(w.event("d", state, time.Second))
		}
		w.store.Advance(time.Second)
	}
}

// An endless store finds as many documents as a query may return: its first one, repeated.
type endless struct {
	ledger.Store
	found int
}

func (s *endless) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	if s.found >= 10000 {
		return nil, errors.New("the search does not end")
	}
	limit := q.Limit
	q.Limit, q.After = 1, ledger.Cursor{}
	found, err := s.Store.Query(ctx, q)
	found = slices.Repeat(found, limit)
	s.found += len(found)
	return found, err
}

var operationList = []ledgerTest{
	{"several states at once, in their common order, across pages", func(w *world) {
		w.many(12)
		both := ledger.Filter{States: []operation.State{operation.Failed, operation.Succeeded}}
		got := w.list(both)
		equal(w, "found", len(got), 8)
		equal(w, "newest first", slices.IsSortedFunc(got, func(a, b operation.Key) int {
			return strings.Compare(string(b), string(a))
		}), true)
		both.Pending = true
		equal(w, "pending", len(w.list(both)), 0)
		both.States = append(both.States, operation.Pending)
		equal(w, "pending", len(w.list(both)), 4)
	}},
	{"a job kind by its pattern, across pages", func(w *world) {
		w.many(12)
		f := ledger.Filter{JobKind: "nightly-*"}
		equal(w, "found", fmt.Sprint(w.list(f)),
			"[batches/n10 batches/n08 batches/n06 batches/n04 batches/n02 batches/n00]")
		counting := Count(w.store)
		if _, err := w.over(counting).Operations.List(w.ctx, ledger.Filter{JobKind: "nightly-*", Limit: 2}); err != nil {
			w.Fatal(err)
		}
		equal(w, "queries", counting.Counts().Queries, 1)
		f.States = []operation.State{operation.Failed}
		equal(w, "failed", fmt.Sprint(w.list(f)), "[batches/n08 batches/n02]")
		f.JobKind = "none"
		equal(w, "none", len(w.list(f)), 0)
		f.JobKind, f.Limit = "nightly-[", 1
		if _, err := w.ledger().Operations.List(w.ctx, f); err == nil {
			w.Error("a pattern that is none was accepted")
		}
	}},
	{"by what a key, an id or a correlation id begins with, which no index counts", func(w *world) {
		w.many(12)
		correlated := w.registration()
		correlated.Name, correlated.CorrelationID = nameOf(w, "batches/x"), "night-7"
		if _, err := w.ledger().Operations.Register(w.ctx, correlated); err != nil {
			w.Fatal(err)
		}
		for prefix, want := range map[string]int{"batches/n0": 10, "n0": 10, "n11": 1, "night-": 1, "0": 0} {
			equal(w, prefix, len(w.list(ledger.Filter{Prefix: prefix})), want)
		}
		equal(w, "counted", ledger.Filter{Prefix: "n0"}.Counted(), false)
	}},
	{"a search that finds nothing ends, and says where to continue [L4]", func(w *world) {
		w.many(1)
		endless := &endless{Store: w.store}
		page, err := w.over(endless).Operations.List(w.ctx, ledger.Filter{JobKind: "none-*", Limit: 1})
		if err != nil || len(page.Items) != 0 || page.Next.Path == "" {
			w.Errorf("%+v, %v", page, err)
		}
		equal(w, "documents read", endless.found, 5000)
	}},
	{"counts what it lists, without reading it", func(w *world) {
		w.many(12)
		w.name = nameOf(w, "batches/dead")
		w.died()
		counting := Count(w.store)
		l := w.over(counting)
		for _, c := range []struct {
			f    ledger.Filter
			want int
		}{
			{ledger.Filter{}, 13},
			{ledger.Filter{Pending: true}, 4},
			{ledger.Filter{Dead: true}, 1},
			{ledger.Filter{States: []operation.State{operation.Succeeded, operation.Failed}}, 9},
			{ledger.Filter{Collection: operation.Operations}, 0},
		} {
			total, err := l.Operations.Count(w.ctx, c.f)
			if err != nil || total != (ledger.Total{N: c.want}) {
				w.Errorf("%+v: %+v, %v, want %d", c.f, total, err, c.want)
			}
		}
		if _, err := l.Operations.Count(w.ctx, ledger.Filter{JobKind: "nightly-*"}); err == nil {
			w.Error("a job kind was counted")
		}
		open, err := l.Effects.CountOpen(w.ctx)
		if err != nil || open.N != 8 {
			w.Errorf("open effects: %v, %v", open, err)
		}
		w.name = nameOf(w, "batches/n01")
		w.granted(publish)
		running, err := l.Effects.CountRunning(w.ctx)
		if err != nil || running.N != 1 {
			w.Errorf("running effects: %v, %v", running, err)
		}
		equal(w, "documents read", counting.Counts().Read, 0)
	}},
	{"dead effects are read with one call, and only while they are dead", func(w *world) {
		var keys []operation.Key
		for i := range 3 {
			w.name = nameOf(w, fmt.Sprint("batches/dead-", i))
			w.died()
			keys = append([]operation.Key{w.name.Key}, keys...)
			w.store.Advance(time.Second)
		}
		page, err := w.ledger().Operations.List(w.ctx, ledger.Filter{Dead: true, Limit: 10})
		if err != nil {
			w.Fatal(err)
		}
		w.replay(w.asked(publish, "m1")) // the newest, after it was listed
		counting := Count(w.store)
		effects, broken, err := w.over(counting).Effects.Dead(w.ctx, page.Items)
		if err != nil || len(broken) != 0 || len(effects) != 2 {
			w.Fatalf("%+v, %v, %v", effects, broken, err)
		}
		for i, effect := range effects {
			equal(w, "operation", effect.Operation, keys[i+1])
			equal(w, "dead", effect.State == ledger.EffectDead && !effect.DiedAt.IsZero(), true)
		}
		equal(w, "calls", counting.Counts().Gets, 1)
		names := []ledger.EffectName{{Operation: keys[2], Effect: publish}, {Operation: "batches/none", Effect: publish},
			{Operation: keys[0], Effect: publish}}
		effects, broken, err = w.over(counting).Effects.Read(w.ctx, names...)
		if err != nil || len(broken) != 0 || len(effects) != 2 {
			w.Fatalf("%+v, %v, %v", effects, broken, err)
		}
		equal(w, "the first", effects[0].Operation, keys[2])
		equal(w, "reopened", effects[1].State, ledger.EffectPending)
		equal(w, "calls", counting.Counts().Gets, 2)
	}},
	{"what ended in two ways, the newest refusal first [M5]", func(w *world) {
		w.many(12)
		for _, i := range []int{1, 5, 2} { // SUCCEEDED, FAILED, FAILED
			w.name = nameOf(w, fmt.Sprintf("batches/n%02d", i))
			w.ingest(w.event("late", operation.Expired, time.Hour))
			w.store.Advance(time.Hour)
		}
		f := ledger.Filter{Conflict: true}
		equal(w, "found", fmt.Sprint(w.list(f)), "[batches/n02 batches/n05 batches/n01]")
		total, err := w.ledger().Operations.Count(w.ctx, f)
		if err != nil || total.N != 3 {
			w.Errorf("counted %v, %v", total, err)
		}
		f.States = []operation.State{operation.Failed}
		equal(w, "of a state", fmt.Sprint(w.list(f)), "[batches/n02 batches/n05]")
		equal(w, "counted", f.Counted(), false)
		f.States, f.Collection = nil, operation.Operations
		equal(w, "of a collection", len(w.list(f)), 0)
		f.Collection, f.Since = "", w.now().Add(-150*time.Minute)
		equal(w, "since", fmt.Sprint(w.list(f)), "[batches/n02 batches/n05]")
		total, err = w.ledger().Operations.Count(w.ctx, f)
		if err != nil || total.N != 2 {
			w.Errorf("counted since %v, %v", total, err)
		}
		f.Dead, f.Limit = true, 1
		if _, err := w.ledger().Operations.List(w.ctx, f); err == nil {
			w.Error("a filter that contradicts itself was accepted")
		}
	}},
	{"since a time, in every order", func(w *world) {
		w.many(12)
		w.name = nameOf(w, "batches/n08")
		f := ledger.Filter{Since: w.record().CreatedAt}
		equal(w, "found", fmt.Sprint(w.list(f)), "[batches/n11 batches/n10 batches/n09 batches/n08]")
		f.States = []operation.State{operation.Failed}
		equal(w, "failed", fmt.Sprint(w.list(f)), "[batches/n11 batches/n08]")
		total, err := w.ledger().Operations.Count(w.ctx, f)
		if err != nil || total.N != 2 {
			w.Errorf("counted %v, %v", total, err)
		}
		f.States, f.Pending = nil, true
		equal(w, "pending", fmt.Sprint(w.list(f)), "[batches/n09]")
	}},
	{"those that ended without an effect while it was left out, the last to end first, across pages [L7]", func(w *world) {
		from := w.now()
		w.many(12)
		out := ledger.LeftOut{Since: from, Rule: ledger.Rule{
			Name: "archive", On: []operation.State{operation.Succeeded, operation.Failed}, JobKinds: []string{"nightly-*"},
		}}
		page := func(f ledger.Filter) (keys []operation.Key) {
			for f.Limit = 2; ; {
				page, err := w.ledger().Operations.List(w.ctx, f)
				if err != nil {
					w.Fatal(err)
				}
				for _, rec := range page.Items {
					keys = append(keys, rec.Key)
				}
				if f.After = page.Next; page.Next.Path == "" {
					return keys
				}
			}
		}
		equal(w, "all", fmt.Sprint(page(ledger.Filter{Without: out})), "[batches/n10 batches/n08 batches/n04 batches/n02]")
		equal(w, "of a state", fmt.Sprint(page(ledger.Filter{Without: out, States: []operation.State{operation.Failed}})),
			"[batches/n08 batches/n02]")
		w.name = nameOf(w, "batches/n04")
		until := w.record().SettledAt
		out.Until = until
		equal(w, "until then", fmt.Sprint(page(ledger.Filter{Without: out})), "[batches/n04 batches/n02]")
		out.Since = until
		equal(w, "since then", fmt.Sprint(page(ledger.Filter{Without: out})), "[batches/n04]")
		planned := ledger.Write{
			Path: ledger.OperationPath(w.name.Key), Token: w.document(ledger.OperationPath(w.name.Key)).Token,
			Data: w.record().WithEffect("archive", operation.EffectOpen),
		}
		if _, err := w.store.Commit(w.ctx, planned); err != nil {
			w.Fatal(err)
		}
		equal(w, "once planned", len(page(ledger.Filter{Without: out})), 0)
		if _, err := w.ledger().Operations.List(w.ctx, ledger.Filter{Without: out, Dead: true, Limit: 1}); err == nil {
			w.Error("a filter that contradicts itself was accepted")
		}
	}},
	{"the newest ends first, across pages", func(w *world) {
		w.many(6)
		w.name = nameOf(w, "batches/n03")
		w.ingest(w.event("late", operation.Failed, time.Hour))
		var keys []operation.Key
		for after, more := (ledger.Cursor{}), true; more; more = after.Path != "" {
			page, err := w.ledger().Operations.Ends(w.ctx, after, 2)
			if err != nil {
				w.Fatal(err)
			}
			for _, rec := range page.Items {
				keys = append(keys, rec.Key)
			}
			after = page.Next
		}
		equal(w, "ends", fmt.Sprint(keys), "[batches/n03 batches/n05 batches/n04 batches/n02 batches/n01]")
	}},
}
