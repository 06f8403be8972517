package infra_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/opledger/opledger/shared/ledger/firestore"
)

// A field of a collection's documents, in firestore.json.
type field struct {
	Collection string `json:"collection"`
	Name       string `json:"name"`
}

// fieldTables is firestore.json.
type fieldTables struct {
	Indexes []struct {
		Collection string `json:"collection"`
		Fields     []struct {
			Name       string `json:"name"`
			Descending bool   `json:"descending"`
		} `json:"fields"`
	} `json:"indexes"`
	Unindexed []field `json:"unindexed"` // beside those of Expiry, which have no index either
	Expiry    []field `json:"expiry"`
}

// TestFirestoreIsThatOfTheCode: Terraform makes exactly the indexes, exemptions and TTL policies
// that the ledger's queries and documents need [L3, L4].
func TestFirestoreIsThatOfTheCode(t *testing.T) {
	t.Parallel()
	table := readTable[fieldTables](t, "firestore.json")
	var indexes []firestore.Index
	for _, index := range table.Indexes {
		made := firestore.Index{Collection: index.Collection}
		for _, f := range index.Fields {
			made.Fields = append(made.Fields, firestore.IndexField{Name: f.Name, Descending: f.Descending})
		}
		indexes = append(indexes, made)
	}
	same(t, "an index", indexes, firestore.Indexes())
	same(t, "a TTL policy", fields(table.Expiry), firestore.Expiry())
	same(t, "an exemption", fields(append(table.Unindexed, table.Expiry...)), firestore.Unindexed())
}

func fields(table []field) []firestore.Field {
	var fields []firestore.Field
	for _, f := range table {
		fields = append(fields, firestore.Field{Collection: f.Collection, Name: f.Name})
	}
	return fields
}

// same reports what is on one list only, or twice, in any order.
func same[T any](t *testing.T, what string, infra, code []T) {
	t.Helper()
	texts := func(list []T) []string {
		var texts []string
		for _, item := range list {
			texts = append(texts, fmt.Sprintf("%+v", item))
		}
		slices.SortFunc(texts, cmp.Compare)
		return texts
	}
	a, b := texts(infra), texts(code)
	for _, text := range a {
		if !slices.Contains(b, text) {
			t.Errorf("firestore.json has %s that shared/ledger/firestore does not list: %s", what, text)
		}
	}
	for _, text := range b {
		if !slices.Contains(a, text) {
			t.Errorf("firestore.json lacks %s that shared/ledger/firestore lists: %s", what, text)
		}
	}
	if len(a) != len(slices.Compact(a)) {
		t.Errorf("firestore.json lists %s twice", what)
	}
}
