package firestore_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	raw "cloud.google.com/go/firestore/apiv1"
	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/test/harness"
)

// indexes are those of infra/firestore.json, with the fields that are exempted by their own names.
type indexes struct {
	Indexes []struct {
		Collection, Scope string
		Fields            []struct{ Name string }
	}
	Unindexed, Expiry []struct{ Collection, Name string }
}

// A tally is how many entries a document has in indexes, and how many times are indexed by themselves.
type tally struct{ entries, times int }

// TestWhatADeliveryIndexes pins how many index entries the documents have that a delivery writes: with
// the indexes that Firestore makes by itself, and with those of the queries alone. test/load/README.md
// states them.
func TestWhatADeliveryIndexes(t *testing.T) {
	t.Parallel()
	project := harness.ProjectID(t)
	store := openIn(t, project)
	t.Cleanup(func() { _ = store.Close() })
	l := newLedger(t, store, &outbox{})
	for _, s := range life(t.Context(), l)[:2] { // the registration and the delivery
		if err := s.call(); err != nil {
			t.Fatal(err)
		}
	}
	var made indexes
	text, err := os.ReadFile("../../../infra/firestore.json")
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil {
		t.Fatal(err)
	}
	client, err := raw.NewClient(t.Context(), dial.Options(harness.Firestore(t))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	var byItself, ours tally
	key := nameOf(1).Key
	for collection, path := range map[string]ledger.Path{
		"operations": ledger.OperationPath(key), "effects": ledger.EffectPath(key, publish),
		"deliveries": ledger.OperationPath(key).Child("deliveries", "delivery"),
	} {
		document, err := client.GetDocument(t.Context(), &firestorepb.GetDocumentRequest{
			Name: fmt.Sprintf("projects/%s/databases/(default)/documents/%s", project, path),
		})
		if err != nil {
			t.Fatal(err)
		}
		made.count(collection, document.GetFields(), &byItself, &ours)
	}
	if want := (tally{87, 9}); byItself != want {
		t.Errorf("Firestore by itself would index %+v, want %+v", byItself, want)
	}
	if want := (tally{12, 5}); ours != want {
		t.Errorf("the documents have %+v, want %+v", ours, want)
	}
}

// count adds the entries of one document: byItself those with Firestore's default indexes of every
// field, as they were before all fields were exempted, and ours those that are left.
func (made indexes) count(collection string, fields map[string]*firestorepb.Value, byItself, ours *tally) {
	own, group := map[string]int{}, map[string]int{} // the indexes of one field, and those of the collection group
	for _, index := range made.Indexes {
		if index.Collection != collection {
			continue
		}
		if len(index.Fields) == 1 {
			own[index.Fields[0].Name]++
			if index.Scope == "" {
				group[index.Fields[0].Name]++
			}
			continue
		}
		if !slices.ContainsFunc(index.Fields, func(f struct{ Name string }) bool { return fields[f.Name] == nil }) {
			byItself.entries++
			ours.entries++
		}
	}
	for name, value := range fields {
		ours.entries += own[name]
		exempted := func(f struct{ Collection, Name string }) bool { return f.Collection == collection && f.Name == name }
		if !slices.ContainsFunc(slices.Concat(made.Unindexed, made.Expiry), exempted) {
			byItself.entries += defaults(value) + group[name]
			if _, rises := value.GetValueType().(*firestorepb.Value_TimestampValue); rises {
				byItself.times++
			}
		}
		if own[name] > 0 {
			ours.times++
		}
	}
}

// defaults is how many indexes Firestore makes of a value by itself: two of a scalar, one of a list,
// and those of each field of a map.
func defaults(value *firestorepb.Value) (n int) {
	switch v := value.GetValueType().(type) {
	case *firestorepb.Value_MapValue:
		for _, of := range v.MapValue.GetFields() {
			n += defaults(of)
		}
		return n
	case *firestorepb.Value_ArrayValue:
		return 1
	}
	return 2
}
