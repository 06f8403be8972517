package ledgertest

import (
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// A laterNote is a note of a newer revision, which has added fields. They are of every form that a
// store has: a text, a number, a list, a map, a time, and a time that queries go by.
type laterNote struct {
	Text      string           `json:"text,omitempty" firestore:"text,omitempty"`
	Count     int64            `json:"count" firestore:"count"`
	CreatedAt time.Time        `json:"createdAt,omitzero" firestore:"createdAt,omitempty"`
	Added     string           `json:"added,omitempty" firestore:"added,omitempty"`
	Big       int64            `json:"big,omitempty" firestore:"big,omitempty"`
	List      []string         `json:"list,omitempty" firestore:"list,omitempty"`
	Nested    map[string]note  `json:"nested,omitempty" firestore:"nested,omitempty"`
	AddedAt   time.Time        `json:"addedAt,omitzero" firestore:"addedAt,omitempty"`
	FailedAt  time.Time        `json:"failedAt,omitzero" firestore:"failedAt,omitempty"`
	Counts    map[string]int64 `json:"counts,omitempty" firestore:"counts,omitempty"`
}

var later = laterNote{
	Text: "one", Count: 1, CreatedAt: minute(1), Added: "quoted \" <b> \u2028 {}", Big: 1<<62 + 1,
	List: []string{"a", ""}, Nested: map[string]note{"a.b": {Text: "c", Count: 2, DueAt: minute(3)}},
	AddedAt: minute(4), FailedAt: minute(5), Counts: map[string]int64{"null": 0},
}

var carryTests = []storeTest{
	onDesk("an added field survives the writes of an older revision [L5]", func(d desk) {
		d.commit(ledger.Write{Path: pathA, Data: later})
		for i := range 3 {
			old := d.read(pathA)
			old.Count, old.Text, old.State = old.Count+1, "", "by the older one"
			d.commit(ledger.Write{Path: pathA, Token: d.get(pathA).Token, Data: old})
			want, got := later, laterNote{}
			want.Text, want.Count = "", int64(i)+2
			if err := d.get(pathA).Decode(&got); err != nil || !reflect.DeepEqual(got, want) {
				d.Fatalf("after %d writes: %+v, %v, want %+v", i+1, got, err, want)
			}
		}
		d.commit(ledger.Write{Path: pathA, Token: d.get(pathA).Token, Data: laterNote{Count: 9}})
		if got := d.read(pathA); got.State != "by the older one" || got.Count != 9 {
			d.Errorf("a field that the newer one does not know: %+v", got)
		}
		var got laterNote
		if err := d.get(pathA).Decode(&got); err != nil || !reflect.DeepEqual(got, laterNote{Count: 9}) {
			d.Errorf("what the newer one left out stayed: %+v, %v", got, err)
		}
	}),
	onDesk("a document is found by an added field after an older write [L5]", func(d desk) {
		under := pathA.Child(ledger.ItemsCollection, "a")
		d.commit(ledger.Write{Path: under, Data: later})
		d.commit(ledger.Write{Path: under, Token: d.get(under).Token, Data: note{Count: 2}})
		found, err := d.store.Query(d.Context(), ledger.Query{
			Collection: ledger.ItemsCollection, Under: pathA, OrderBy: ledger.FieldFailedAt, Limit: 9,
		})
		if err != nil || len(found) != 1 || !found[0].At.Equal(later.FailedAt) {
			d.Errorf("found %+v, %v", found, err)
		}
	}),
	onDesk("a document made new has no field of the one that was deleted [L5]", func(d desk) {
		d.commit(ledger.Write{Path: pathA, Data: later})
		d.commit(ledger.Write{Path: pathA, Token: d.get(pathA).Token})
		d.put(pathA, note{Count: 1})
		var got laterNote
		if err := d.get(pathA).Decode(&got); err != nil || !reflect.DeepEqual(got, laterNote{Count: 1}) {
			d.Errorf("it has %+v, %v", got, err)
		}
	}),
	onDesk("what is carried counts for the size of a document [L5]", func(d desk) {
		half := strings.Repeat("x", ledger.MaxDocumentBytes/3*2)
		doc := func() ledger.Document { return d.get(pathA) }
		d.commit(ledger.Write{Path: pathA, Data: laterNote{Added: half}})
		_, err := d.store.Commit(d.Context(), ledger.Write{Path: pathA, Token: doc().Token, Data: note{Text: half}})
		if !errors.Is(err, ledger.ErrInvalid) || errors.Is(err, ledger.ErrUnavailable) {
			d.Errorf("two thirds and two thirds: %v, want ErrInvalid alone", err)
		}
		d.commit(ledger.Write{Path: pathA, Token: doc().Token, Data: note{Text: "small"}})
	}),
}
