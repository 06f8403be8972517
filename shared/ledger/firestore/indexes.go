package firestore

import "github.com/opledger/opledger/shared/ledger"

// A deployment makes exactly these indexes, exemptions and TTL policies, and a test holds the
// indexes against ledger.QueryShapes. The emulator needs none of them and does not notice when one
// is missing; production refuses the query.

// An Index is one that Firestore does not create by itself. All are of collection-group scope: due
// documents are found wherever they are. (Queries under one document need none, because Firestore
// indexes each field of each collection.)
//
// One of a single field is an addition to that field's own indexes, one of several fields is a
// composite index.
type Index struct {
	Collection string
	Fields     []IndexField
}

// An IndexField is one field of an index and its order. A field that is only compared for equality
// stands first, ascending.
type IndexField struct {
	Name       string
	Descending bool
}

// Indexes returns the indexes that the ledger's queries need, one for each shape.
func Indexes() []Index {
	state, collection, dead := IndexField{Name: "state"}, IndexField{Name: "collection"}, IndexField{Name: "deadEffect"}
	due, newest := IndexField{Name: ledger.FieldDueAt}, IndexField{Name: ledger.FieldCreatedAt, Descending: true}
	received := IndexField{Name: ledger.FieldReceivedAt, Descending: true}
	return []Index{
		// what is due [L4, R5, G6]
		{ledger.OperationsCollection, []IndexField{due}},
		{ledger.EffectsCollection, []IndexField{due}},
		{ledger.EffectsCollection, []IndexField{state, due}}, // what is being run, counted
		{ledger.IntentsCollection, []IndexField{due}},
		// operations, newest first
		{ledger.OperationsCollection, []IndexField{newest}},
		{ledger.OperationsCollection, []IndexField{state, newest}},
		{ledger.OperationsCollection, []IndexField{collection, newest}},
		{ledger.OperationsCollection, []IndexField{state, collection, newest}},
		{ledger.OperationsCollection, []IndexField{{Name: "jobKind"}, newest}},
		// pending operations, in due order
		{ledger.OperationsCollection, []IndexField{state, due}},
		{ledger.OperationsCollection, []IndexField{collection, due}},
		{ledger.OperationsCollection, []IndexField{state, collection, due}},
		// operations with a dead effect, newest first
		{ledger.OperationsCollection, []IndexField{dead, newest}},
		{ledger.OperationsCollection, []IndexField{state, dead, newest}},
		{ledger.OperationsCollection, []IndexField{collection, dead, newest}},
		{ledger.OperationsCollection, []IndexField{state, collection, dead, newest}},
		// what ended last, and what has ended in two ways [M5]
		{ledger.OperationsCollection, []IndexField{{Name: ledger.FieldSettledAt, Descending: true}}},
		{ledger.OperationsCollection, []IndexField{{Name: ledger.FieldConflictAt, Descending: true}}},
		// what needs an operator, while it does: late and unregistered operations, failing effects, and
		// bodies that could not be read [R4, W5, W6]
		{ledger.OperationsCollection, []IndexField{state, {Name: ledger.FieldLateAt}}},
		{ledger.OperationsCollection, []IndexField{
			{Name: "registered"}, {Name: ledger.FieldUnresolvedAt, Descending: true},
		}},
		{ledger.EffectsCollection, []IndexField{state, {Name: ledger.FieldFailingSince}}},
		{ledger.QuarantineCollection, []IndexField{{Name: ledger.FieldUnresolvedAt, Descending: true}}},
		// dead effects without a record, newest first
		{ledger.EffectsCollection, []IndexField{{Name: "withoutRecord"}, newest}},
		// the quarantine, newest first [W6]
		{ledger.QuarantineCollection, []IndexField{received}},
		{ledger.QuarantineCollection, []IndexField{{Name: "reason"}, received}},
	}
}

// A Field names a field of a collection's documents.
type Field struct {
	Collection string
	Name       string
}

// Unindexed returns the fields that must not have an index. They are large, or have names that
// users choose. An index of the expiry, which grows with every write, would only put all writes in
// one place.
func Unindexed() []Field {
	fields := []Field{
		{ledger.OperationsCollection, "metadata"},
		{ledger.OperationsCollection, "result"},
		{ledger.OperationsCollection, "progress"},
		{ledger.OperationsCollection, "progressAt"},
		{ledger.IntentsCollection, "metadata"},
		{ledger.IntentsCollection, "names"},
		{ledger.EffectsCollection, "payload"},
		{ledger.EffectsCollection, "lastError"},
		{ledger.EffectsCollection, "progress"},
		{ledger.EffectsCollection, "history"},
		{ledger.EffectsCollection, "diedAt"},
		{ledger.ItemsCollection, "lastError"},
		{ledger.ItemsCollection, "lastStatus"},
		{ledger.ItemsCollection, "lastFailedAt"},
		{ledger.ItemsCollection, "idempotencyKey"},
		{ledger.ItemsCollection, "response"},
		{ledger.ItemsCollection, "error"},
		{ledger.QuarantineCollection, "detail"},
		{ledger.QuarantineCollection, "headers"},
		{ledger.QuarantineCollection, "body"},
		{ledger.PartsCollection, "body"},
		{ledger.PassesCollection, "marks"},
		{ledger.PassesCollection, "last"},
		{ledger.SettingsCollection, "rules"},
		{ledger.SettingsCollection, "values"},
	}
	return append(fields, Expiry()...)
}

// Expiry returns the fields that hold the time after which Firestore may delete a document: one TTL
// policy each [L3]. Firestore deletes neither in order nor what is under a document, so every
// collection has its own.
func Expiry() []Field {
	return []Field{
		{ledger.OperationsCollection, "expireAt"},
		{ledger.DeliveriesCollection, "expireAt"},
		{ledger.EffectsCollection, "expireAt"},
		{ledger.ItemsCollection, "expireAt"},
		{ledger.IntentsCollection, "expireAt"},
		{ledger.QuarantineCollection, "expireAt"},
		{ledger.PartsCollection, "expireAt"},
	}
}
