package ledgertest

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

var valueTests = []storeTest{
	onDesk("times are cut to microseconds [M4]", func(d desk) {
		at := time.Date(2026, 3, 4, 5, 6, 7, 123456999, time.FixedZone("", 3600))
		d.put(pathA, note{CreatedAt: at})
		want := time.Date(2026, 3, 4, 4, 6, 7, 123456000, time.UTC)
		if got := d.read(pathA).CreatedAt; !got.Equal(want) {
			d.Errorf("%v was kept as %v, want %v", at, got, want)
		}
	}),
	onDesk("a time that was read is written back as itself [M4]", func(d desk) {
		at := time.Date(2026, 3, 4, 5, 6, 7, 999999999, time.UTC)
		doc := d.put(pathA, note{CreatedAt: at})
		first := d.read(pathA)
		d.commit(ledger.Write{Path: pathA, Token: doc.Token, Data: first})
		if second := d.read(pathA); !second.CreatedAt.Equal(first.CreatedAt) {
			d.Errorf("%v became %v", first.CreatedAt, second.CreatedAt)
		}
	}),
	onDesk("times long ago and far away", func(d desk) {
		for i, at := range []time.Time{
			time.Unix(0, 0).UTC(), time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC),
			time.Date(9000, 1, 1, 0, 0, 0, 1000, time.UTC),
		} {
			path := pathA.Child(ledger.EffectsCollection, string(rune('a'+i)))
			d.put(path, note{CreatedAt: at})
			if got := d.read(path).CreatedAt; !got.Equal(at) {
				d.Errorf("%v was kept as %v", at, got)
			}
		}
	}),
	onDesk("text, bytes and maps are read back", func(d desk) {
		want := note{
			Text:  "\x00 line\nbreak \"quotes\" <b>&amp; ünïcödé 日本 🙂 \u2028",
			Body:  []byte{0, 1, 0xff, 0xfe, '{'},
			Count: 1<<62 + 1, // more than a float holds
			Words: map[string]string{"a": "", "b.c": "d", "`": "'"},
		}
		d.put(pathA, want)
		got := d.read(pathA)
		if got.Text != want.Text || !bytes.Equal(got.Body, want.Body) || got.Count != want.Count ||
			!maps.Equal(got.Words, want.Words) {
			d.Errorf("got %+v, want %+v", got, want)
		}
	}),
	onDesk("what is written does not hang on to the caller's memory", func(d desk) {
		body, words := []byte("before"), map[string]string{"is": "before"}
		d.commit(ledger.Write{Path: pathA, Data: note{Body: body, Words: words}})
		copy(body, "after!")
		words["is"] = "after"
		if got := d.read(pathA); string(got.Body) != "before" || got.Words["is"] != "before" {
			d.Errorf("got %q and %q", got.Body, got.Words)
		}
	}),
	onDesk("a document that is decoded twice is the same twice", func(d desk) {
		doc := d.put(pathA, note{Text: "text", Words: map[string]string{"a": "b"}})
		var first, second note
		if err := errors.Join(doc.Decode(&first), doc.Decode(&second)); err != nil {
			d.Fatal(err)
		}
		first.Words["a"] = "changed"
		if second.Words["a"] != "b" {
			d.Error("the two share memory")
		}
	}),
	onDesk("a document of another shape is an error, not a zero", func(d desk) {
		d.commit(ledger.Write{Path: pathA, Data: struct {
			Count string `json:"count" firestore:"count"`
		}{"many"}})
		var n note
		if err := d.get(pathA).Decode(&n); err == nil {
			d.Errorf("a text was decoded into a number: %+v", n)
		}
	}),
	onDesk("a field that is not known is left out", func(d desk) {
		d.commit(ledger.Write{Path: pathA, Data: struct {
			Text  string `json:"text" firestore:"text"`
			Later string `json:"later" firestore:"later"`
		}{"text", "a later revision's"}})
		if got := d.read(pathA).Text; got != "text" {
			d.Errorf("got %q", got)
		}
	}),
	onDesk("absent is not null, and a field that becomes zero disappears", absent),
	onDesk("a document clearly over the limit is refused", func(d desk) {
		d.put(pathB, note{Text: "small"})
		big := note{Text: strings.Repeat("x", 1_200*1024)}
		_, err := d.store.Commit(d.Context(), ledger.Write{Path: pathC, Data: note{}}, ledger.Write{Path: pathA, Data: big})
		if !errors.Is(err, ledger.ErrInvalid) || errors.Is(err, ledger.ErrConflict) || errors.Is(err, ledger.ErrUnavailable) {
			d.Errorf("creating 1.2 MiB: %v, want ErrInvalid alone", err)
		}
		if d.get(pathA).Exists() || d.get(pathC).Exists() {
			d.Error("part of the batch was written")
		}
		_, err = d.store.Commit(d.Context(), ledger.Write{Path: pathB, Token: d.get(pathB).Token, Data: big})
		if !errors.Is(err, ledger.ErrInvalid) {
			d.Errorf("updating to 1.2 MiB: %v, want ErrInvalid", err)
		}
		if got := d.read(pathB).Text; got != "small" {
			d.Errorf("the refused update left %d bytes", len(got))
		}
	}),
	onDesk("a document clearly under the limit is accepted", func(d desk) {
		text := strings.Repeat("x", 900*1024)
		d.put(pathA, note{Text: text})
		if got := d.read(pathA).Text; got != text {
			d.Errorf("got %d bytes back, want %d", len(got), len(text))
		}
	}),
}

// absent checks, by queries and by decoding over a filled struct, that a zero field is not in the
// document.
func absent(d desk) {
	due := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	doc := d.put(pathA, note{Text: "text", DueAt: due, Words: map[string]string{"a": "b"}})
	find := func() int {
		page, err := d.store.Query(d.Context(), ledger.Query{
			Collection: ledger.OperationsCollection, OrderBy: ledger.FieldDueAt, Limit: 10,
		})
		if err != nil {
			d.Fatal(err)
		}
		return len(page)
	}
	if n := find(); n != 1 {
		d.Fatalf("found %d documents by dueAt, want 1", n)
	}
	d.commit(ledger.Write{Path: pathA, Token: doc.Token, Data: note{Count: 1}})
	if n := find(); n != 0 {
		d.Errorf("found %d documents by a dueAt that was removed", n)
	}
	// An absent field leaves the struct's value; null would not.
	was := note{Text: "was", DueAt: due}
	if err := d.get(pathA).Decode(&was); err != nil {
		d.Fatal(err)
	}
	if was.Text != "was" || !was.DueAt.Equal(due) || was.Count != 1 {
		d.Errorf("an absent field was decoded: %+v", was)
	}
}
