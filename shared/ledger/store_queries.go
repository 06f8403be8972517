package ledger

import (
	"slices"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// Every query of the ledger is made here: the indexes of a deployment follow from their shapes.

// queryDue: a collection group, by dueAt, up to now. A cursor without a path says from when on.
func queryDue(collection string, now time.Time, after Cursor, limit int) Query {
	q := queryOpen(collection, after, limit)
	q.NotAfter = now
	return q
}

// queryOpen: a collection group, everything with a dueAt, by dueAt. A cursor without a path says from when
// on.
func queryOpen(collection string, after Cursor, limit int) Query {
	q := Query{Collection: collection, OrderBy: FieldDueAt, After: after, Limit: limit}
	if after.Path == "" {
		q.NotBefore = after.At
	}
	return q
}

// queryChildren: one operation's deliveries or effects, oldest first.
func queryChildren(key operation.Key, collection, field string, after Cursor, limit int) Query {
	return Query{Collection: collection, Under: OperationPath(key), OrderBy: field, After: after, Limit: limit}
}

// queryNewestEffects: one operation's effects, newest first.
func queryNewestEffects(key operation.Key, limit int) Query {
	q := queryChildren(key, EffectsCollection, FieldCreatedAt, Cursor{}, limit)
	q.Descending = true
	return q
}

// queryItems: the items of one effect by createdAt; those that are to be retried by waitingSince; the failed ones by
// failedAt. The oldest are first.
func queryItems(effect Path, field string, after Cursor, limit int) Query {
	return Query{Collection: ItemsCollection, Under: effect, OrderBy: field, After: after, Limit: limit}
}

// queryParts: the parts of one job by createdAt, or the open ones by waitingSince, the oldest first.
func queryParts(key operation.Key, field string, after Cursor, limit int) Query {
	return Query{Collection: PartsCollection, Under: JobPath(key), OrderBy: field, After: after, Limit: limit}
}

// queryList: one of these lists of operations: all, the newest first; those with a dead effect; pending
// ones by due time; those with a conflict; late ones; unregistered ones; those that ended while an
// effect was left out; those of one job kind. The first three may be of one collection, and have one query
// for each state of the filter. Late ones have one for each state that is not terminal.
func queryList(f Filter) []Query {
	q := Query{
		Collection: OperationsCollection, OrderBy: FieldCreatedAt, Descending: true, NotBefore: f.Since, After: f.After,
		Limit: f.Limit,
	}
	switch {
	case f.Conflict:
		q.OrderBy = FieldConflictAt
		return []Query{q}
	case !f.Late.IsZero():
		q.OrderBy, q.Descending, q.NotBefore, q.NotAfter = FieldLateAt, false, time.Time{}, f.Late
		return inStates(unfinished(), q) // an older revision that settles one keeps its lateAt
	case !f.Without.IsZero():
		q.OrderBy, q.NotBefore, q.NotAfter = FieldSettledAt, f.Without.Since, f.Without.Until
		return []Query{q}
	case !f.Unregistered.IsZero():
		q.OrderBy, q.NotBefore, q.NotAfter = FieldUnresolvedAt, time.Time{}, f.Unregistered
		q.Where = []Equal{{Field: "registered", Value: false}} // an older revision keeps unresolvedAt
		return []Query{q}
	}
	if f.Pending {
		q.OrderBy, q.Descending, q.NotBefore = FieldDueAt, false, time.Time{}
	}
	if f.Collection != "" {
		q.Where = append(q.Where, Equal{Field: "collection", Value: string(f.Collection)})
	}
	if kind, ok := f.exactKind(); ok {
		q.Where = append(q.Where, Equal{Field: "jobKind", Value: kind})
	}
	if f.Dead {
		q.Where = append(q.Where, Equal{Field: "deadEffect", Value: true})
	}
	if len(f.States) == 0 {
		return []Query{q}
	}
	return inStates(f.States, q)
}

// unfinished returns the states of operations that have not ended. The ledger stores no other state
// than those that it knows [M1].
func unfinished() []operation.State {
	return slices.DeleteFunc(operation.States(), operation.State.Terminal)
}

// queryEnds: operations that have ended, the last to end first.
func queryEnds(after Cursor, limit int) Query {
	return Query{
		Collection: OperationsCollection, OrderBy: FieldSettledAt, Descending: true, After: after, Limit: limit,
	}
}

// queryRunning: effects that a worker has claimed, by the end of the lease.
func queryRunning(after Cursor, limit int) Query {
	return Query{
		Collection: EffectsCollection, Where: []Equal{{Field: "state", Value: string(EffectClaimed)}},
		OrderBy: FieldDueAt, After: after, Limit: limit,
	}
}

// queryFailing: open effects that fail since before or earlier, the longest first. The states are needed
// because an older revision that ends an effect keeps its failingSince.
func queryFailing(before time.Time, after Cursor, limit int) []Query {
	return inStates([]EffectState{EffectPending, EffectClaimed}, Query{
		Collection: EffectsCollection, OrderBy: FieldFailingSince, NotAfter: before, After: after, Limit: limit,
	})
}

// inStates returns the query for each of states: one index cannot compare with several.
func inStates[S ~string](states []S, q Query) []Query {
	queries := make([]Query, len(states))
	for i, state := range states {
		queries[i] = q
		queries[i].Where = append([]Equal{{Field: "state", Value: string(state)}}, q.Where...)
	}
	return queries
}

// queryDeliveries: the deliveries of one id under all operations, the newest first.
func queryDeliveries(id string, limit int) Query {
	return Query{
		Collection: DeliveriesCollection, Where: []Equal{{Field: "id", Value: id}}, OrderBy: FieldReceivedAt,
		Descending: true, Limit: limit,
	}
}

// queryWithoutRecord: dead effects that no record names, newest first, as a filter's Since chooses.
func queryWithoutRecord(f Filter) Query {
	return Query{
		Collection: EffectsCollection, Where: []Equal{{Field: "withoutRecord", Value: true}},
		OrderBy: FieldCreatedAt, Descending: true, NotBefore: f.Since, After: f.After, Limit: f.Limit,
	}
}

// queryQuarantined: the quarantine, newest first: all, those of one reason, or the unresolved ones.
func queryQuarantined(f QuarantineFilter) Query {
	q := Query{
		Collection: QuarantineCollection, OrderBy: FieldReceivedAt, Descending: true, After: f.After, Limit: f.Limit,
	}
	if f.Unresolved {
		q.OrderBy = FieldUnresolvedAt
		return q
	}
	if f.Reason != "" {
		q.Where = []Equal{{Field: "reason", Value: f.Reason}}
	}
	return q
}
