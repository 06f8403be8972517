package ledgertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// counted checks how many operations a filter counts.
func (w *world) counted(f ledger.Filter, want int) {
	w.Helper()
	if total, err := w.ledger().Operations.Count(w.ctx, f); err != nil || total.N != want {
		w.Errorf("counted %v, %v, want %d of %+v", total, err, want, f)
	}
}

// operationNeeds: what needs an operator is found by an index of its own, and only while it does.
var operationNeeds = []ledgerTest{
	{"late operations are found among all that are pending, the oldest first, and no others [R4, L4]", func(w *world) {
		for i := range 9 { // one an hour
			w.name = nameOf(w, fmt.Sprintf("batches/n%d", i))
			r := w.registration()
			r.SubmittedAt = w.now()
			if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
				w.Fatal(err)
			}
			w.store.Advance(time.Hour)
		}
		missing := func(key string) {
			w.name = nameOf(w, key)
			w.note(ledger.ConditionNotFound)
		}
		w.name = nameOf(w, "batches/n1")
		w.succeed()
		if _, err := w.ledger().Operations.Abandon(w.ctx, "batches/n2", givingUp); err != nil {
			w.Fatal(err)
		}
		w.store.Advance(w.settings.StuckAfter - 5*time.Hour - time.Minute)
		f := ledger.Filter{Late: w.now()}
		equal(w, "late", fmt.Sprint(w.list(f)), "[batches/n0 batches/n3]")
		w.counted(f, 2)
		f.Collection = operation.Operations
		equal(w, "of a collection", len(w.list(f)), 0)
		equal(w, "counted by an index", f.Counted(), false)
		missing("batches/n8")
		w.store.Advance(12 * w.settings.Interval)
		missing("batches/n8")
		missing("batches/n0") // late, and not found, is late once
		f = ledger.Filter{Late: w.now()}
		equal(w, "with what is missing", fmt.Sprint(w.list(f)), "[batches/n0 batches/n3 batches/n4 batches/n8]")
		w.counted(f, 4)
		counting := Count(w.store)
		if _, err := w.over(counting).Operations.List(w.ctx, ledger.Filter{Late: w.now(), Limit: 10}); err != nil {
			w.Fatal(err)
		}
		equal(w, "documents read", counting.Counts().Read, 4)
		f.Pending, f.Limit = true, 1
		if _, err := w.ledger().Operations.List(w.ctx, f); err == nil {
			w.Error("a filter that contradicts itself was accepted")
		}
	}},
	{"unregistered operations are found until they are registered or resolved [W5, L4]", func(w *world) {
		for i := range 3 {
			w.name = nameOf(w, fmt.Sprintf("batches/n%d", i))
			w.ingest(w.event("d1", operation.Succeeded, time.Second))
			w.store.Advance(time.Hour)
		}
		all := func() ledger.Filter { return ledger.Filter{Unregistered: w.now()} }
		equal(w, "unregistered", fmt.Sprint(w.list(all())), "[batches/n2 batches/n1 batches/n0]")
		w.counted(all(), 3)
		w.counted(ledger.Filter{Unregistered: w.now().Add(-2 * time.Hour)}, 2)
		w.name = nameOf(w, "batches/n1")
		w.register()
		equal(w, "registered", fmt.Sprint(w.list(all())), "[batches/n2 batches/n0]")
		stands, err := w.ledger().Operations.ResolveUnregistered(w.ctx, "batches/n0", givingUp)
		again, againErr := w.ledger().Operations.ResolveUnregistered(w.ctx, "batches/n0",
			ledger.Decision{By: "me", Why: "too"})
		if err != nil || againErr != nil || again != stands || stands.Why != givingUp.Why {
			w.Errorf("%+v %v, %+v %v", stands, err, again, againErr)
		}
		equal(w, "resolved", fmt.Sprint(w.list(all())), "[batches/n2]")
		w.counted(all(), 1)
		for key, want := range map[operation.Key]error{"batches/n1": ledger.ErrRegistered, "batches/x": ledger.ErrNotFound} {
			if _, err := w.ledger().Operations.ResolveUnregistered(w.ctx, key, givingUp); !errors.Is(err, want) {
				w.Errorf("%s: %v, want %v", key, err, want)
			}
		}
		if _, err := w.ledger().Operations.ResolveUnregistered(w.ctx, "batches/n2", ledger.Decision{}); !errors.Is(
			err, ledger.ErrNoReason) {
			w.Error(err)
		}
		w.name = nameOf(w, "batches/n0")
		w.register()
		w.published(publish, publish) // as if nothing had been resolved
	}},
	{"effects that fail are found while they are open, the longest first [S4, L4]", func(w *world) {
		w.succeed()
		failing := func() ledger.Page[ledger.Effect] {
			page, err := w.ledger().Effects.Failing(w.ctx, w.now(), ledger.Cursor{}, 10)
			total, countErr := w.ledger().Effects.CountFailing(w.ctx, w.now())
			if err != nil || countErr != nil || total.N != len(page.Items) {
				w.Fatalf("%+v %v, %v %v", page, err, total, countErr)
			}
			return page
		}
		equal(w, "planned", len(failing().Items), 0)
		lease := w.claim(publish).Lease
		if _, err := w.ledger().Effects.Release(w.ctx, lease, errors.New("503"), 0); err != nil {
			w.Fatal(err)
		}
		found := failing().Items
		equal(w, "failed", len(found), 1)
		equal(w, "with its error", found[0].LastError, "503")
		early, err := w.ledger().Effects.CountFailing(w.ctx, found[0].FailingSince.Add(-time.Second))
		equal(w, "before it failed", fmt.Sprint(early, err), "0 <nil>")
		w.store.Advance(time.Hour)
		lease = w.claim(publish).Lease
		equal(w, "while it runs", len(failing().Items), 1)
		if err := w.ledger().Effects.Finish(w.ctx, lease); err != nil {
			w.Fatal(err)
		}
		equal(w, "done", len(failing().Items), 0)
	}},
	{"of effects that fail since the same time, in several states, no page leaves one out [R6, S4]", func(w *world) {
		// As texts "a-b/effects/publish" is before "a/effects/publish", because '-' is before '/'.
		states := map[operation.Key]ledger.EffectState{
			"batches/a": ledger.EffectPending, "batches/a-b": ledger.EffectClaimed, "batches/a.c": ledger.EffectPending,
		}
		for key, state := range states {
			w.failedOnce(string(key))
			w.older(ledger.EffectPath(key, publish), failsSince{state, ledger.Failing{Since: w.start, Times: 1}, w.start})
		}
		var found []operation.Key
		for after, more := (ledger.Cursor{}), true; more; more = after.Path != "" {
			page, err := w.ledger().Effects.Failing(w.ctx, w.now(), after, 1)
			if err != nil {
				w.Fatal(err)
			}
			for _, e := range page.Items {
				found = append(found, e.Operation)
			}
			after = page.Next
		}
		equal(w, "found", fmt.Sprint(found), "[batches/a batches/a-b batches/a.c]")
	}},
	{"quarantined bodies need an operator until they are ingested or resolved [W6, L4]", func(w *world) {
		for _, s := range []ledger.Suspect{
			{ID: "d1", Reason: "malformed"}, {ID: "d2", Reason: ledger.ReasonUnknownType}, {ID: "d3", Reason: "malformed"},
			{ID: "d4", Reason: "malformed"},
		} {
			if _, err := w.ledger().Quarantine.Add(w.ctx, s); err != nil {
				w.Fatal(err)
			}
			w.store.Advance(time.Second)
		}
		unresolved := func() (ids []string) {
			f := ledger.QuarantineFilter{Unresolved: true, Limit: 10}
			page, err := w.ledger().Quarantine.List(w.ctx, f)
			total, countErr := w.ledger().Quarantine.Count(w.ctx, f)
			if err != nil || countErr != nil || total.N != len(page.Items) {
				w.Fatalf("%+v %v, %v %v", page, err, total, countErr)
			}
			for _, q := range page.Items {
				ids = append(ids, q.ID)
			}
			return ids
		}
		equal(w, "unresolved", fmt.Sprint(unresolved()), "[d4 d3 d1]")
		if err := w.ledger().Quarantine.MarkRetried(w.ctx, "d1", ledger.Applied); err != nil {
			w.Fatal(err)
		}
		stands, err := w.ledger().Quarantine.Resolve(w.ctx, "d3", givingUp)
		again, againErr := w.ledger().Quarantine.Resolve(w.ctx, "d3", ledger.Decision{By: "me", Why: "too"})
		if err != nil || againErr != nil || again != stands || stands.By != givingUp.By {
			w.Errorf("%+v %v, %+v %v", stands, err, again, againErr)
		}
		equal(w, "ingested, and resolved", fmt.Sprint(unresolved()), "[d4]")
		for id, c := range map[string]struct {
			by   ledger.Decision
			want error
		}{"d4": {ledger.Decision{By: "me"}, ledger.ErrNoReason}, "none": {givingUp, ledger.ErrNotFound}} {
			if _, err := w.ledger().Quarantine.Resolve(w.ctx, id, c.by); !errors.Is(err, c.want) {
				w.Errorf("%s: %v, want %v", id, err, c.want)
			}
		}
	}},
}

// A failsSince has what is stored of an effect that fails.
type failsSince struct {
	State        ledger.EffectState `json:"state" firestore:"state"`
	Failing      ledger.Failing     `json:"failing" firestore:"failing"`
	FailingSince time.Time          `json:"failingSince" firestore:"failingSince"`
}
