package firestore_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/operation"
)

// indexFor returns the index that Firestore needs for a query: the fields compared for equality,
// then the order. ok is false where Firestore creates the index by itself.
func indexFor(q ledger.Query) (_ firestore.Index, ok bool) {
	index := firestore.Index{Collection: q.Collection}
	for _, equal := range q.Where {
		index.Fields = append(index.Fields, firestore.IndexField{Name: equal.Field})
	}
	index.Fields = append(index.Fields, firestore.IndexField{Name: q.OrderBy, Descending: q.Descending})
	return index, q.Under == "" || len(q.Where) > 0
}

func TestIndexesAreThoseThatTheQueriesNeed(t *testing.T) {
	t.Parallel()
	needed := map[string]bool{}
	for _, q := range ledger.QueryShapes() {
		if index, ok := indexFor(q); ok {
			needed[fmt.Sprint(index)] = true
		}
	}
	listed := map[string]bool{}
	for _, index := range firestore.Indexes() {
		text := fmt.Sprint(index)
		if listed[text] {
			t.Errorf("%s is listed twice", text)
		}
		listed[text] = true
		if !needed[text] {
			t.Errorf("%s is listed, but no query needs it", text)
		}
	}
	for text := range needed {
		if !listed[text] {
			t.Errorf("%s is needed by a query, but not listed", text)
		}
	}
}

// documentTypes are the types of each collection's documents.
func documentTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
		ledger.OperationsCollection: reflect.TypeFor[operation.Record](),
		ledger.DeliveriesCollection: reflect.TypeFor[ledger.Delivery](),
		ledger.EffectsCollection:    reflect.TypeFor[ledger.Effect](),
		ledger.ItemsCollection:      reflect.TypeFor[ledger.Item](),
		ledger.IntentsCollection:    reflect.TypeFor[ledger.Intent](),
		ledger.QuarantineCollection: reflect.TypeFor[ledger.Quarantined](),
		ledger.PartsCollection:      reflect.TypeFor[ledger.QuarantinedPart](),
		ledger.PassesCollection:     reflect.TypeFor[ledger.Marks](),
		ledger.SettingsCollection:   reflect.TypeFor[ledger.StoredSettings](),
	}
}

func TestTablesNameFieldsThatDocumentsHave(t *testing.T) {
	t.Parallel()
	has := func(collection, name string) bool {
		document, ok := documentTypes()[collection]
		return ok && slices.ContainsFunc(reflect.VisibleFields(document), func(f reflect.StructField) bool {
			tag, _, _ := strings.Cut(f.Tag.Get("firestore"), ",")
			return tag == name
		})
	}
	for _, field := range firestore.Unindexed() {
		if !has(field.Collection, field.Name) {
			t.Errorf("%v is no field", field)
		}
	}
	for _, index := range firestore.Indexes() {
		for _, f := range index.Fields {
			if !has(index.Collection, f.Name) {
				t.Errorf("%s of %v is no field", f.Name, index)
			}
			if slices.Contains(firestore.Unindexed(), firestore.Field{Collection: index.Collection, Name: f.Name}) {
				t.Errorf("%s of %v must have no index", f.Name, index)
			}
		}
	}
	for collection := range documentTypes() {
		if collection == ledger.PassesCollection || collection == ledger.SettingsCollection {
			continue // one document, which every pass writes, or every process that begins with other settings
		}
		if !slices.Contains(firestore.Expiry(), firestore.Field{Collection: collection, Name: "expireAt"}) {
			t.Errorf("nothing says when documents of %s may be deleted [L3]", collection)
		}
	}
}
