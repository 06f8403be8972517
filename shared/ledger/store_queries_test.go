package ledger

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
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
	// Unindexed are all fields (*) of each collection but those of Indexes. Those that are large, or have
	// names that users choose, are named as well: deployments of before * have each of them.
	Unindexed []field `json:"unindexed"`
	// Expiry has no index either: its value grows with every write, so an index puts all in one place.
	Expiry []field `json:"expiry"`
}

// An index serves a collection group, because due documents are found wherever they are; or with the
// scope COLLECTION the documents under one other document. Firestore makes none by itself: its default
// indexes of every field are switched off.
type index struct {
	Collection string         `json:"collection"`
	Scope      string         `json:"scope"`
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
// then the order.
func indexFor(q Query) index {
	made := index{Collection: q.Collection}
	if q.Under != "" {
		made.Scope = "COLLECTION"
	}
	for _, equal := range q.Where {
		made.Fields = append(made.Fields, indexedField{Name: equal.Field})
	}
	made.Fields = append(made.Fields, indexedField{Name: q.OrderBy, Descending: q.Descending})
	return made
}

// queryShapes returns the queries of every shape that the ledger makes, by the function that makes
// them. The index that a store needs for a query follows from its shape, not from its values.
func queryShapes() map[string][]Query {
	now := time.Unix(0, 0)
	return map[string][]Query{
		"queryDue": {
			queryDue(OperationsCollection, now, Cursor{}, 1), queryDue(EffectsCollection, now, Cursor{}, 1),
			queryDue(IntentsCollection, now, Cursor{}, 1),
		},
		"queryOpen": {
			queryOpen(OperationsCollection, Cursor{At: now}, 1), queryOpen(EffectsCollection, Cursor{}, 1),
			queryOpen(IntentsCollection, Cursor{}, 1),
		},
		"queryRunning": {queryRunning(Cursor{}, 1)},
		"queryChildren": {
			queryChildren("", DeliveriesCollection, FieldReceivedAt, Cursor{}, 1),
			queryChildren("", EffectsCollection, FieldCreatedAt, Cursor{}, 1),
		},
		"queryNewestEffects": {queryNewestEffects("", 1)},
		"queryItems": {
			queryItems(EffectPath("", ""), FieldCreatedAt, Cursor{}, 1),
			queryItems(EffectPath("", ""), FieldWaiting, Cursor{}, 1),
			queryItems(EffectPath("", ""), FieldFailedAt, Cursor{}, 1),
		},
		"queryParts": {
			queryParts("", FieldCreatedAt, Cursor{}, 1), queryParts("", FieldWaiting, Cursor{}, 1),
		},
		"queryDeliveries":    {queryDeliveries("msg_1", 1)},
		"queryWithoutRecord": {queryWithoutRecord(Filter{Limit: 1})},
		"queryEnds":          {queryEnds(Cursor{}, 1)},
		"queryQuarantined": {
			queryQuarantined(QuarantineFilter{Limit: 1}), queryQuarantined(QuarantineFilter{Reason: "malformed", Limit: 1}),
			queryQuarantined(QuarantineFilter{Unresolved: true, Limit: 1}),
		},
		"queryFailing": queryFailing(now, Cursor{}, 1),
		"queryList":    lists(now),
	}
}

// lists are the queries of every filter of a list.
func lists(now time.Time) (shapes []Query) {
	for _, f := range []Filter{
		{Conflict: true, Limit: 1}, {Late: now, Limit: 1}, {Unregistered: now, Limit: 1}, {JobKind: "nightly", Limit: 1},
		{Without: LeftOut{Rule: Rule{Name: "publish"}, Since: now, Until: now.Add(1)}, Limit: 1},
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

// TestIndexesAreThoseThatTheQueriesNeed: each index is there for a query, and each query has its index
// [L3, L4]. What is indexed besides is written with every document, and no query reads it.
func TestIndexesAreThoseThatTheQueriesNeed(t *testing.T) {
	t.Parallel()
	needed := map[string]string{} // the function whose query needs it
	for function, queries := range queryShapes() {
		for _, q := range queries {
			needed[fmt.Sprint(indexFor(q))] = function
		}
	}
	listed := map[string]bool{}
	for _, index := range readDeployed(t).Indexes {
		text := fmt.Sprint(index)
		if listed[text] {
			t.Errorf("%s is listed twice", text)
		}
		listed[text] = true
		if needed[text] == "" {
			t.Errorf("%s is listed, but no query needs it", text)
		}
	}
	for text, function := range needed {
		if !listed[text] {
			t.Errorf("%s needs %s, which is not listed", function, text)
		}
	}
	source := sourceOf(t, "store_queries.go")
	for _, made := range regexp.MustCompile(`(?m)^func (query\w+)\(`).FindAllStringSubmatch(source, -1) {
		if queryShapes()[made[1]] == nil {
			t.Errorf("%s has no shape in this test", made[1])
		}
	}
}

func sourceOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNothingElseIsIndexed: Firestore would index every field of every document, both ways, and each
// time that rises would be written at one end of its index.
func TestNothingElseIsIndexed(t *testing.T) {
	t.Parallel()
	unindexed := readDeployed(t).Unindexed
	collections := regexp.MustCompile(`Collection += "(\w+)"`).FindAllStringSubmatch(sourceOf(t, "store_path.go"), -1)
	if len(collections) < len(documentTypes()) {
		t.Fatalf("there are %d collections: has their form changed?", len(collections))
	}
	for _, collection := range collections {
		if !slices.Contains(unindexed, field{collection[1], "*"}) {
			t.Errorf("every field of %s is indexed", collection[1])
		}
	}
}

// documentTypes are the types of each collection's documents.
func documentTypes() map[string][]reflect.Type {
	return map[string][]reflect.Type{
		OperationsCollection: {reflect.TypeFor[operation.Record]()},
		DeliveriesCollection: {reflect.TypeFor[Delivery]()},
		EffectsCollection:    {reflect.TypeFor[Effect]()},
		ItemsCollection:      {reflect.TypeFor[Item]()},
		IntentsCollection:    {reflect.TypeFor[Intent]()},
		QuarantineCollection: {reflect.TypeFor[Quarantined]()},
		PartsCollection:      {reflect.TypeFor[QuarantinedPart](), reflect.TypeFor[StoredPart]()},
		PassesCollection:     {reflect.TypeFor[Marks]()},
		SettingsCollection:   {reflect.TypeFor[StoredSettings]()},
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
		if f.Name == "*" {
			return true // TestNothingElseIsIndexed
		}
		return slices.ContainsFunc(documentTypes()[f.Collection], func(document reflect.Type) bool {
			return slices.ContainsFunc(reflect.VisibleFields(document), func(of reflect.StructField) bool {
				return storedName(of) == f.Name
			})
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
