package ledgertest

import (
	"context"
	"errors"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

var readTests = []storeTest{
	onDesk("Get keeps the order of its paths, with duplicates and missing ones", func(d desk) {
		a, b := d.put(pathA, note{Text: "a"}), d.put(pathB, note{Text: "b"})
		asked := []ledger.Path{pathB, pathC, pathA, pathB, pathC}
		snapshot, err := d.store.Get(d.Context(), asked...)
		if err != nil {
			d.Fatal(err)
		}
		tokens := []ledger.Token{b.Token, "", a.Token, b.Token, ""}
		if len(snapshot.Documents) != len(asked) {
			d.Fatalf("got %d documents for %d paths", len(snapshot.Documents), len(asked))
		}
		for i, doc := range snapshot.Documents {
			if doc.Path != asked[i] || doc.Token != tokens[i] {
				d.Errorf("document %d is %s with token %q, want %s with %q", i, doc.Path, doc.Token, asked[i], tokens[i])
			}
		}
		var first, fourth note
		if err := errors.Join(snapshot.Documents[0].Decode(&first), snapshot.Documents[3].Decode(&fourth)); err != nil {
			d.Fatal(err)
		}
		if first.Text != "b" || fourth.Text != "b" {
			d.Errorf("the two reads of one document: %q and %q", first.Text, fourth.Text)
		}
	}),
	onDesk("a document that does not exist decodes into nothing", func(d desk) {
		was := note{Text: "was"}
		if err := d.get(pathA).Decode(&was); err != nil || was.Text != "was" {
			d.Errorf("%+v, %v", was, err)
		}
	}),
	onDesk("Get reads one instant", func(d desk) {
		// One writer changes both documents in one commit, over and over: no reader may see them
		// differ.
		d.commit(ledger.Write{Path: pathA, Data: note{}}, ledger.Write{Path: pathB, Data: note{}})
		done := make(chan error, 1)
		go func() {
			for i := range int64(30) {
				snapshot, err := d.store.Get(d.Context(), pathA, pathB)
				if err == nil {
					_, err = d.store.Commit(d.Context(),
						ledger.Write{Path: pathA, Token: snapshot.Documents[0].Token, Data: note{Count: i + 1}},
						ledger.Write{Path: pathB, Token: snapshot.Documents[1].Token, Data: note{Count: i + 1}})
				}
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
		for {
			snapshot, err := d.store.Get(d.Context(), pathB, pathA)
			if err != nil {
				d.Fatal(err)
			}
			var b, a note
			if err := errors.Join(snapshot.Documents[0].Decode(&b), snapshot.Documents[1].Decode(&a)); err != nil {
				d.Fatal(err)
			}
			if a.Count != b.Count {
				d.Fatalf("read %d and %d, which were never there together", a.Count, b.Count)
			}
			select {
			case err := <-done:
				if err != nil {
					d.Errorf("the writer: %v", err)
				}
				return
			default:
			}
		}
	}),
	onDesk("one's own commit is read at once", func(d desk) {
		for i := range int64(20) {
			d.commit(ledger.Write{Path: pathA, Token: d.get(pathA).Token, Data: note{Count: i, DueAt: noon}})
			if got := d.read(pathA).Count; got != i {
				d.Fatalf("wrote %d and read %d", i, got)
			}
			page, err := d.store.Query(d.Context(), ledger.Query{
				Collection: ledger.OperationsCollection, OrderBy: ledger.FieldDueAt, Limit: 10,
			})
			if err != nil || len(page) != 1 || page[0].Token != d.get(pathA).Token {
				d.Fatalf("the query after write %d: %+v, %v", i, page, err)
			}
		}
	}),
	onDesk("the read time is the store's clock", func(d desk) {
		const off = time.Minute // clocks of machines differ; time zones and units differ by more
		last := time.Time{}
		see := func(what string, at time.Time, err error) {
			d.Helper()
			if err != nil {
				d.Fatal(err)
			}
			if by := time.Since(at); by < -off || by > off {
				d.Errorf("the read time of %s is off by %v", what, by)
			}
			if at.Before(last.Add(-time.Second)) {
				d.Errorf("the read time of %s went back from %v to %v", what, last, at)
			}
			last = at
		}
		for i := range int64(10) {
			snapshot, err := d.store.Get(d.Context(), pathA)
			see("Get", snapshot.ReadTime, err)
			d.commit(ledger.Write{Path: pathA, Token: snapshot.Documents[0].Token, Data: note{Count: i}})
			clock, err := d.store.Get(d.Context())
			see("Get of nothing", clock.ReadTime, err)
		}
	}),
	onDesk("a cancelled context gives its own error and loses nothing", func(d desk) {
		doc := d.put(pathA, note{Text: "kept"})
		cancelled, cancel := context.WithCancel(d.Context())
		cancel()
		late, stop := context.WithDeadline(d.Context(), time.Now().Add(-time.Hour))
		defer stop()
		for ctx, want := range map[context.Context]error{cancelled: context.Canceled, late: context.DeadlineExceeded} {
			_, getErr := d.store.Get(ctx, pathA)
			_, queryErr := d.store.Query(ctx, ledger.Query{
				Collection: ledger.OperationsCollection, OrderBy: ledger.FieldDueAt, Limit: 1,
			})
			_, commitErr := d.store.Commit(ctx, ledger.Write{Path: pathA, Token: doc.Token, Data: note{Text: "changed"}})
			for what, err := range map[string]error{"Get": getErr, "Query": queryErr, "Commit": commitErr} {
				if !errors.Is(err, want) {
					d.Errorf("%s: %v, want %v", what, err, want)
				}
			}
		}
		if n := d.read(pathA); n.Text != "kept" {
			d.Errorf("a commit that was cancelled before it began left %q", n.Text)
		}
		d.commit(ledger.Write{Path: pathA, Token: doc.Token, Data: note{Text: "changed"}})
	}),
}
