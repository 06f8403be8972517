package ledgertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

var operationDiscover = []ledgerTest{
	{"of what cannot be read only that is known [R6]", func(w *world) {
		w.register()
		w.plant("intents/odd", garbage{Version: "not a number"})
		findings, err := w.ledger().Operations.Discover(w.ctx,
			[]ledger.Found{{Name: w.name, CorrelationID: "odd"}, {Name: w.name}})
		if err != nil || len(findings) != 2 {
			w.Fatalf("%+v, %v", findings, err)
		}
		if odd := findings[0]; !errors.As(odd.Err, new(ledger.Broken)) || odd.Standing != ledger.StandingNone {
			w.Errorf("%+v", odd)
		}
		if other := findings[1]; other.Err != nil || other.Standing != ledger.StandingRegistered {
			w.Errorf("beside it: %+v", other)
		}
	}},
	{"what the ledger knows of listed operations, with one read and no write [G6, L4]", func(w *world) {
		for _, id := range []string{"open", "given-up", "named", "unsaid"} {
			w.intend(id)
			if id == "given-up" {
				w.store.Advance(w.settings.StuckAfter + time.Second)
				w.giveUp()
				w.delete("intents/open")
				w.intend("open")
			}
		}
		register := func(name, id string) {
			if _, err := w.ledger().Operations.Register(w.ctx, ledger.Registration{
				Name: nameOf(w, name), Submission: operation.Submission{CorrelationID: id},
			}); err != nil {
				w.Fatal(err)
			}
		}
		register("batches/registered", "")
		register("batches/named", "named")
		e := w.event("d1", operation.Running, time.Second)
		e.Name = nameOf(w, "batches/told")
		w.ingest(e)
		e.Name, e.CorrelationID = nameOf(w, "batches/seen"), "seen"
		w.ingest(e)

		type row struct {
			name, id string
			standing ledger.Standing
			waiting  bool
			other    operation.Key
		}
		rows := []row{
			{"batches/new", "", ledger.StandingNone, false, ""},
			{"batches/new", "unknown", ledger.StandingNone, false, ""},
			{"projects/p/batches/lost", "open", ledger.StandingNone, true, ""},
			{"batches/late", "given-up", ledger.StandingNone, true, ""},
			{"batches/told", "open", ledger.StandingUnregistered, true, ""},
			{"batches/seen", "seen", ledger.StandingUnregistered, false, ""},
			{"batches/unheard-of", "seen", ledger.StandingNone, false, ""},
			{"batches/registered", "unsaid", ledger.StandingRegistered, true, ""},
			{"batches/named", "named", ledger.StandingRegistered, false, ""},
			{"batches/twice", "named", ledger.StandingNone, false, "batches/named"},
		}
		var found []ledger.Found
		for _, r := range rows {
			found = append(found, ledger.Found{Name: nameOf(w, r.name), CorrelationID: r.id})
		}
		counting := Count(w.store)
		findings, err := w.over(counting).Operations.Discover(w.ctx, found)
		if err != nil || len(findings) != len(rows) {
			w.Fatalf("%d findings, %v", len(findings), err)
		}
		for i, r := range rows {
			want := ledger.Finding{Found: found[i], Standing: r.standing, Waiting: r.waiting, Elsewhere: r.other}
			equal(w, r.name+" with "+r.id, findings[i], want)
		}
		if n := counting.Counts(); n.Gets != 1 || n.Queries != 0 || n.Commits != 0 {
			w.Errorf("it cost %+v", n)
		}
	}},
	{"a hundred at once, and none", func(w *world) {
		counting := Count(w.store)
		for n, gets := range map[int]int{0: 0, 100: 1, 101: 2} {
			counting.Reset()
			var found []ledger.Found
			for i := range n {
				found = append(
					found, ledger.Found{Name: nameOf(w, fmt.Sprint("batches/b-", i)), CorrelationID: fmt.Sprint("c-", i)},
				)
			}
			findings, err := w.over(counting).Operations.Discover(w.ctx, found)
			if err != nil || len(findings) != n {
				w.Errorf("of %d: %d, %v", n, len(findings), err)
			}
			equal(w, fmt.Sprintf("reads for %d", n), counting.Counts().Gets, gets)
		}
	}},
	{"a document that cannot be read spoils its own finding only [R6]", func(w *world) {
		broken := struct {
			Version string `json:"version" firestore:"version"`
		}{"not a number"}
		for _, path := range []ledger.Path{ledger.OperationPath("batches/broken"), "intents/broken"} {
			if _, err := w.store.Store.(*Checked).Store.Commit(w.ctx, ledger.Write{Path: path, Data: broken}); err != nil {
				w.Fatal(err)
			}
		}
		w.register()
		findings, err := w.ledger().Operations.Discover(w.ctx, []ledger.Found{
			{Name: nameOf(w, "batches/broken")}, {Name: nameOf(w, "batches/other"), CorrelationID: "broken"}, {Name: w.name},
		})
		if err != nil || findings[0].Err == nil || findings[1].Err == nil || findings[2].Err != nil ||
			findings[2].Standing != ledger.StandingRegistered {
			w.Errorf("%+v, %v", findings, err)
		}
	}},
	{"what was found waiting is bound by its event [G6]", func(w *world) {
		w.intend("i-1")
		findings, err := w.ledger().Operations.Discover(w.ctx, []ledger.Found{{Name: w.name, CorrelationID: "i-1"}})
		if err != nil || !findings[0].Waiting {
			w.Fatalf("%+v, %v", findings, err)
		}
		e := w.lookup(operation.Running, time.Second)
		e.CorrelationID = "i-1"
		w.ingest(e)
		w.boundTo("i-1")
		if findings, err = w.ledger().Operations.Discover(w.ctx,
			[]ledger.Found{{Name: w.name, CorrelationID: "i-1"}}); err != nil ||
			findings[0].Waiting || findings[0].Standing != ledger.StandingRegistered {
			w.Errorf("afterwards: %+v, %v", findings, err)
		}
	}},
}
