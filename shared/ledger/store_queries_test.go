package ledger

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A deployed is infra/firestore.json: the indexes, exemptions and TTL policies that a deployment makes.
// The emulator needs none of them and misses none; production refuses the query.
type deployed struct {
	Indexes []index `json:"indexes"`
	// Unindexed are large, or have names that users choose.
	Unindexed []field `json:"unindexed"`
	// Expiry has no index either: its value grows with every write, so an index puts all in one place.
	Expiry []field `json:"expiry"`
}

// An index is one that Firestore does not create by itself, of collection-group scope: due documents
// are found wherever they are. Queries under one document need none, because Firestore indexes each
// field of each collection.
type index struct {
	Collection string         `json:"collection"`
	Fields     []indexedField `json:"fields"` // one compared for equality stands first, ascending
}

type indexedField struct {
	Name       string `json:"name"`
	Descending bool   `json:"descending"`
}

// A field of a collection's documents.
type field struct {
	Collection string `json:"collection"`
	Name       string `json:"name"`
}

func readDeployed(t *testing.T) (d deployed) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "infra", "firestore.json"))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// indexFor returns the index that Firestore needs for a query: the fields compared for equality,
// then the order. ok is false where Firestore creates the index by itself.
func indexFor(q Query) (_ index, ok bool) {
	made := index{Collection: q.Collection}
	for _, equal := range q.Where {
		made.Fields = append(made.Fields, indexedField{Name: equal.Field})
	}
	made.Fields = append(made.Fields, indexedField{Name: q.OrderBy, Descending: q.Descending})
	return made, q.Under == "" || len(q.Where) > 0
}

// queryShapes returns one query of every shape that the ledger uses. The index that a store needs
// for a query follows from its shape, not from its values.
func queryShapes() []Query {
	now := time.Unix(0, 0)
	shapes := []Query{
		queryDue(OperationsCollection, now, Cursor{}, 1),
		queryDue(EffectsCollection, now, Cursor{}, 1),
		queryDue(IntentsCollection, now, Cursor{}, 1),
		queryFar(OperationsCollection, now, Cursor{}, 1),
		queryFar(EffectsCollection, now, Cursor{}, 1),
		queryFar(IntentsCollection, now, Cursor{}, 1),
		queryOpen(IntentsCollection, Cursor{}, 1),
		queryOpen(EffectsCollection, Cursor{}, 1),
		queryRunning(Cursor{}, 1),
		queryChildren("", DeliveriesCollection, FieldReceivedAt, Cursor{}, 1),
		queryChildren("", EffectsCollection, FieldCreatedAt, Cursor{}, 1),
		queryNewestEffects("", 1),
		queryItems(EffectPath("", ""), Cursor{}, 1),
		queryWaiting(EffectPath("", ""), Cursor{}, 1),
		queryWithoutRecord(Filter{Limit: 1}),
		queryEnds(Cursor{}, 1),
		queryFailed(EffectPath("", ""), Cursor{}, 1),
		queryQuarantined(QuarantineFilter{Limit: 1}),
		queryQuarantined(QuarantineFilter{Reason: "malformed", Limit: 1}),
		queryQuarantined(QuarantineFilter{Unresolved: true, Limit: 1}),
	}
	shapes = append(shapes, queryFailing(now, Cursor{}, 1)...)
	for _, f := range []Filter{
		{Conflict: true, Limit: 1}, {Late: now, Limit: 1}, {Unregistered: now, Limit: 1}, {JobKind: "nightly", Limit: 1},
	} {
		shapes = append(shapes, queryList(f)...)
	}
	for _, states := range [][]operation.State{nil, {operation.Pending}} {
		for _, collection := range []operation.Collection{"", operation.Batches} {
			for _, f := range []Filter{{}, {Pending: true}, {Dead: true}} {
				f.States, f.Collection, f.Limit = states, collection, 1
				shapes = append(shapes, queryList(f)...)
			}
		}
	}
	return shapes
}

// TestIndexesAreThoseThatTheQueriesNeed [L3, L4].
func TestIndexesAreThoseThatTheQueriesNeed(t *testing.T) {
	t.Parallel()
	needed := map[string]bool{}
	for _, q := range queryShapes() {
		if index, ok := indexFor(q); ok {
			needed[fmt.Sprint(index)] = true
		}
	}
	listed := map[string]bool{}
	for _, index := range readDeployed(t).Indexes {
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
		OperationsCollection: reflect.TypeFor[operation.Record](),
		DeliveriesCollection: reflect.TypeFor[Delivery](),
		EffectsCollection:    reflect.TypeFor[Effect](),
		ItemsCollection:      reflect.TypeFor[Item](),
		IntentsCollection:    reflect.TypeFor[Intent](),
		QuarantineCollection: reflect.TypeFor[Quarantined](),
		PartsCollection:      reflect.TypeFor[QuarantinedPart](),
		PassesCollection:     reflect.TypeFor[Marks](),
		SettingsCollection:   reflect.TypeFor[StoredSettings](),
	}
}

func storedName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("firestore"), ",")
	return name
}

func TestTablesNameFieldsThatDocumentsHave(t *testing.T) {
	t.Parallel()
	tables := readDeployed(t)
	has := func(f field) bool {
		document, ok := documentTypes()[f.Collection]
		return ok && slices.ContainsFunc(reflect.VisibleFields(document), func(of reflect.StructField) bool {
			return storedName(of) == f.Name
		})
	}
	exempt := slices.Concat(tables.Unindexed, tables.Expiry)
	for i, f := range exempt {
		if !has(f) {
			t.Errorf("%v is no field", f)
		}
		if slices.Contains(exempt[:i], f) {
			t.Errorf("%v is listed twice", f)
		}
	}
	for _, index := range tables.Indexes {
		for _, f := range index.Fields {
			if f := (field{index.Collection, f.Name}); !has(f) || slices.Contains(exempt, f) {
				t.Errorf("%v of %v is no field, or must have no index", f, index)
			}
		}
	}
}

// TestEveryDocumentExpires: Firestore deletes neither in order nor what is under a document, so every
// collection has its own TTL policy [L3].
func TestEveryDocumentExpires(t *testing.T) {
	t.Parallel()
	expiry := readDeployed(t).Expiry
	for collection := range documentTypes() {
		if collection == PassesCollection || collection == SettingsCollection {
			continue // one document, which every pass writes, or every process that begins with other settings
		}
		if !slices.Contains(expiry, field{collection, "expireAt"}) {
			t.Errorf("nothing says when documents of %s may be deleted", collection)
		}
	}
	for _, f := range expiry {
		if f.Name != "expireAt" {
			t.Errorf("%v holds no time after which a document may be deleted", f)
		}
	}
}
