package ledgertest

import (
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// keepName keeps a name with the intent, and reports whether it is stored now.
func (w *world) keepName(id, raw string) bool {
	w.Helper()
	kept, err := w.ledger().Intents.KeepName(w.ctx, id, nameOf(w, raw))
	if err != nil {
		w.Fatalf("KeepName %q: %v", raw, err)
	}
	return kept
}

// keepingName is a move that keeps a name.
func (w *world) keepingName(id, raw string, kept *bool) move {
	return func(l *ledger.Ledger) (err error) {
		*kept, err = l.Intents.KeepName(w.ctx, id, nameOf(w, raw))
		return err
	}
}

// Names that deliveries brought are kept and looked up.
var intentSearchNames = join([]ledgerTest{
	{"names of before are looked up once more after their intent was given up [G6]", func(w *world) {
		i := w.intention("i-1")
		i.Collection = operation.Operations
		if _, err := w.ledger().Intents.Intend(w.ctx, i); err != nil {
			w.Fatal(err)
		}
		w.keepName("i-1", "operations/v1")
		w.store.Advance(ledger.SearchFor + time.Second) // without a pass
		w.giveUp()
		near(w, "due in", w.intent("i-1").DueAt.Sub(w.now()), time.Hour)
		equal(w, "it expires before", w.intent("i-1").ExpireAt.IsZero(), true)
	}},
	{"a name is kept with an OPEN intent, looked up soon, and delays nothing [G6, K6]", func(w *world) {
		w.intend("i-1")
		w.store.Advance(time.Minute)
		equal(w, "kept", w.keepName("i-1", "models/veo/operations/v1"), true)
		intent := w.intent("i-1")
		equal(w, "names", len(intent.Names), 1)
		equal(w, "its key", intent.Names[0].Key, "operations/v1")
		equal(w, "the name to ask with [K5]", intent.Names[0].Name, "models/veo/operations/v1")
		equal(w, "given up at", intent.GiveUpAt, intent.CreatedAt.Add(w.settings.StuckAfter))
		between(w, "due in", intent.DueAt.Sub(w.now()), w.settings.Interval*7/10, w.settings.Interval)
		equal(w, "its operation", intent.Operation, "")
		counting := Count(w.store)
		kept, err := w.over(counting).Intents.KeepName(w.ctx, "i-1", nameOf(w, "operations/v1"))
		equal(w, "the same again", kept && err == nil, true)
		equal(w, "commits of the same again", counting.Counts().Commits, 0)

		w.store.Advance(w.settings.Interval)
		items := w.dueIntents().Items
		if len(items) != 1 || items[0].Intent.Overdue(w.now()) {
			w.Fatalf("due: %+v", items)
		}
		names := items[0].Intent.ToLookUp(w.now())
		if len(names) != 1 || names[0] != nameOf(w, "models/veo/operations/v1") {
			w.Errorf("to be looked up: %v", names)
		}
		for range 100 {
			w.store.Advance(w.intent("i-1").DueAt.Sub(w.now()) + time.Second)
			if items = w.dueIntents().Items; items[0].Intent.Overdue(w.now()) {
				break
			}
			if _, err := w.ledger().Intents.Postpone(w.ctx, items[0], w.now()); err != nil {
				w.Fatal(err)
			}
		}
		near(w, "overdue after", w.now().Sub(intent.CreatedAt), w.settings.StuckAfter)
	}},
	{"an intent keeps five names [G6]", func(w *world) {
		w.intend("i-1")
		for n := range 7 {
			equal(w, fmt.Sprint("name ", n), w.keepName("i-1", fmt.Sprint("operations/v", n)), n < 5)
		}
		equal(w, "names", len(w.intent("i-1").Names), 5)
		equal(w, "one of them again", w.keepName("i-1", "operations/v4"), true)
		w.store.Advance(ledger.SearchFor + time.Second)
		equal(w, "to be looked up in the end", len(w.intent("i-1").ToLookUp(w.now())), 0)
		equal(w, "another, before a pass came", w.keepName("i-1", "operations/v6"), false)
		w.giveUp()
		equal(w, "another, then", w.keepName("i-1", "operations/v6"), true)
		equal(w, "one of before, then", w.keepName("i-1", "operations/v1"), true)
		var names []operation.Key
		for _, kept := range w.intent("i-1").Names {
			names = append(names, kept.Key)
		}
		equal(w, "what stays, the oldest first", fmt.Sprint(names),
			"[operations/v2 operations/v3 operations/v4 operations/v6 operations/v1]")
		equal(w, "to be looked up for their time", len(w.intent("i-1").ToLookUp(w.now())), 2)
	}},
	{"a name is kept with an abandoned intent, also after its search, and looked up for 72 h [G6]", func(w *world) {
		w.givenUp("i-1", operation.Operations)
		w.store.Advance(10 * day)
		equal(w, "kept", w.keepName("i-1", "operations/v1"), true)
		intent := w.intent("i-1")
		equal(w, "it expires while a name is looked up", intent.ExpireAt.IsZero(), true)
		equal(w, "searched for in the list", intent.Searched(w.now()), false)
		w.grow(w.searches("i-1"))
		intent = w.intent("i-1")
		near(w, "kept for [L3]", intent.ExpireAt.Sub(w.now()), 2*w.settings.Retention)
		equal(w, "the name stays for a person", len(intent.Names), 1)
	}},
	{"nothing is kept where no intent waits [W5]", func(w *world) {
		w.ingest(w.intended("d1", "seen", operation.Running, time.Second))
		w.name = nameOf(w, "batches/other")
		if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("bound")); err != nil {
			w.Fatal(err)
		}
		for _, id := range []string{"seen", "bound", "unknown"} {
			before := w.intent(id)
			equal(w, id, w.keepName(id, "operations/v1"), false)
			equal(w, id+": its version", w.intent(id).Version, before.Version)
		}
	}},
	{"a renewed intent keeps its names, and a bound one looks none up [G6]", func(w *world) {
		w.intend("i-1")
		w.keepName("i-1", "operations/v1")
		w.store.Advance(attemptOver)
		w.renewed("i-1")
		equal(w, "to be looked up", len(w.intent("i-1").ToLookUp(w.now())), 1)
		equal(w, "bound", w.ingest(w.intended("d1", "i-1", operation.Running, time.Second)).Bound, true)
		equal(w, "to be looked up once it is bound", len(w.intent("i-1").ToLookUp(w.now())), 0)
		equal(w, "due once it is bound", w.intent("i-1").DueAt.IsZero(), true)
	}},
}, lostly("KeepName: kept once [G6]", func(w *world, l *ledger.Ledger) {
	w.intend("i-1")
	kept, err := l.Intents.KeepName(w.ctx, "i-1", nameOf(w, "operations/v1"))
	equal(w, "kept", kept && err == nil, true)
	equal(w, "names", len(w.intent("i-1").Names), 1)
}), both("a name against its intent's binding [G6, M6]", func(w *world) (a, b move, check func()) {
	w.intend("i-1")
	kept := false
	var hook ledger.Receipt
	b = w.ingesting(w.intended("d1", "i-1", operation.Running, time.Second), &hook)
	return w.keepingName("i-1", "operations/v1", &kept), b, func() {
		equal(w, "bound", hook.Bound, true)
		equal(w, "kept", len(w.intent("i-1").Names) == 1, kept)
		w.boundTo("i-1")
	}
}), both("a name against giving up [G6, M6]", func(w *world) (a, b move, check func()) {
	due, won, kept := w.overdue("i-1"), 0, false
	return w.keepingName("i-1", "operations/v1", &kept), w.givingUp(due, &won), func() {
		intent := w.intent("i-1")
		equal(w, "kept", kept && len(intent.Names) == 1, true)
		equal(w, "given up", intent.State == ledger.IntentAbandoned, won == 1)
	}
}))
