package ledger

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Filter chooses operations for List. Its zero fields choose all.
type Filter struct {
	States     []operation.State // one of these; each must be there once
	Collection operation.Collection
	// JobKind is a pattern as of path.Match, such as "nightly-*". An index finds it where it has no
	// wildcard and stands alone or with Since. Else List reads the operations that the other fields
	// choose, and leaves out the others.
	JobKind string
	// Prefix is what the key begins with, or its id, or the correlation id; matched as a pattern of JobKind is.
	Prefix  string
	Pending bool // only operations that have not ended, in due order
	Dead    bool // only operations with a dead effect; not together with Pending
	// Conflict chooses operations for which an event named another terminal state than the one that
	// stands [M5], the newest such event first; not together with Pending or Dead. States and
	// Collection are then matched as JobKind is.
	Conflict bool
	// Late, if not zero, chooses operations that are pending for too long at that time, or that Gemini
	// does not know, the one that is late for longest first [R4]. Unregistered, if not zero, chooses
	// those that were not registered by that time, the newest first, and that no operator has resolved
	// [W5]. At most one of Pending, Dead, Conflict, Late and Unregistered is set. States,
	// Collection and Since are matched as JobKind is.
	Late, Unregistered time.Time
	// Without, if not zero, chooses operations that ended without an effect which was left out, the last to end
	// first. It stands in the place of the five, and the same is matched as with Late. A call of List then reads Limit
	// documents at most, and its page may be short.
	Without LeftOut
	// Since leaves out operations that were created earlier, and with Conflict those whose event is
	// older. With Pending it is matched as JobKind is.
	Since time.Time
	After Cursor // as List returned it
	Limit int    // must be positive
}

// validate returns an error for a filter that contradicts itself.
func (f Filter) validate() error {
	orders := 0
	for _, is := range []bool{
		f.Pending, f.Dead, f.Conflict, !f.Late.IsZero(), !f.Unregistered.IsZero(), !f.Without.IsZero(),
	} {
		if is {
			orders++
		}
	}
	if orders > 1 {
		return errors.New("a filter has one of Pending, Dead, Conflict, Late, Unregistered and Without")
	}
	if _, err := path.Match(f.JobKind, ""); err != nil {
		return fmt.Errorf("the pattern of the job kind, %q: %w", f.JobKind, err)
	}
	return nil
}

// needy reports whether the filter chooses operations by what an operator must decide about them.
func (f Filter) needy() bool {
	return f.Conflict || !f.Late.IsZero() || !f.Unregistered.IsZero() || !f.Without.IsZero()
}

// sinceIndexed reports whether an index covers Since.
func (f Filter) sinceIndexed() bool {
	return !f.Pending && f.Late.IsZero() && f.Unregistered.IsZero() && f.Without.IsZero()
}

// Counted reports whether an index finds exactly the operations of the filter, so that Operations.Count
// counts them. The counts of conflicts and of late operations are upper bounds: an older revision may have
// changed some since [L5].
func (f Filter) Counted() bool {
	_, exact := f.exactKind()
	return f.Prefix == "" && f.Without.IsZero() && (f.JobKind == "" || exact) &&
		!(f.needy() && (len(f.States) > 0 || f.Collection != "")) &&
		(f.Since.IsZero() || f.sinceIndexed())
}

// exactKind returns the job kind, and reports whether an index finds it.
func (f Filter) exactKind() (string, bool) {
	alone := len(f.States) == 0 && f.Collection == "" && !f.Pending && !f.Dead && !f.needy()
	return f.JobKind, f.JobKind != "" && alone && !strings.ContainsAny(f.JobKind, `*?[\`)
}

// matches reports whether a record matches the fields that no index covers.
func (f Filter) matches(rec operation.Record) bool {
	switch {
	case !f.names(labels{rec.Schema, rec.Key, rec.CorrelationID, rec.JobKind}),
		!f.sinceIndexed() && rec.CreatedAt.Before(f.Since):
		return false
	case f.Conflict && !rec.Conflicted(), !f.Late.IsZero() && !rec.Late(f.Late),
		!f.Unregistered.IsZero() && !rec.Unregistered(), !f.Without.IsZero() && !f.Without.Misses(rec):
		return false
	case !f.needy():
		return true
	}
	return (len(f.States) == 0 || slices.Contains(f.States, rec.State)) &&
		(f.Collection == "" || f.Collection == rec.Collection)
}

// names reports whether JobKind and Prefix choose a record with these labels.
func (f Filter) names(l labels) bool {
	kind, _ := path.Match(f.JobKind, l.JobKind) // validate has tried the pattern
	_, id, _ := strings.Cut(string(l.Key), "/")
	return (f.JobKind == "" || kind) && (strings.HasPrefix(string(l.Key), f.Prefix) || strings.HasPrefix(id, f.Prefix) ||
		strings.HasPrefix(l.CorrelationID, f.Prefix))
}

// labels are the fields of a record that JobKind and Prefix are matched with, and its number [L6].
type labels struct {
	Schema        int           `json:"schema" firestore:"schema"`
	Key           operation.Key `json:"key" firestore:"key"`
	CorrelationID string        `json:"correlationId" firestore:"correlationId"`
	JobKind       string        `json:"jobKind" firestore:"jobKind"`
}

// leavesOut reports whether a record's labels alone show that the filter does not choose it: to decode the whole
// record takes four times as long, and of 5,000 few may be chosen. One that cannot be read is not left out.
func (f Filter) leavesOut(doc Document) bool {
	if f.JobKind == "" && f.Prefix == "" {
		return false
	}
	read, err := decode(doc, func(l labels) Path { return OperationPath(l.Key) })
	return err == nil && !f.names(read)
}

// onlyDead reports whether the filter also finds dead effects without a record, which have no state,
// collection or job kind.
func (f Filter) onlyDead() bool {
	return f.Dead && f.Prefix == "" && len(f.States) == 0 && f.Collection == "" && f.JobKind == ""
}

// List returns operations, newest first. With Dead, and without States, Collection and JobKind, the dead
// effects without a record follow: their operation has none, or they are about no operation. Each is
// returned as a record without a Version, which names that one effect.
//
// It reads at most Limit documents for each state that it searches. If the filter is not Counted, a search
// goes on for 5,000 documents: then a page may have fewer items than Limit, or none, and still a Next.
// Errors: the store's.
func (l operationsReader) List(ctx context.Context, f Filter) (Page[operation.Record], error) {
	if err := f.validate(); err != nil {
		return Page[operation.Record]{}, fmt.Errorf("listing operations: %w", err)
	}
	var page Page[operation.Record]
	if f.After.Path.Collection() != EffectsCollection {
		var err error
		page, err = l.listOperations(ctx, f)
		if err != nil || !f.onlyDead() || page.Next.Path != "" {
			return page, err
		}
		f.After = Cursor{}
		f.Limit -= len(page.Items) + len(page.Broken)
	}
	alone, err := find(ctx, l.store, "listing dead effects without a record", queryWithoutRecord(f),
		func(doc Document) (operation.Record, error) {
			effect, err := readEffect(doc)
			rec := operation.Record{Key: effect.Operation, CreatedAt: effect.CreatedAt}
			return rec.WithEffect(effect.Name, effect.Status()), err
		})
	if err != nil {
		return page, err
	}
	page.Items, page.Broken = append(page.Items, alone.Items...), append(page.Broken, alone.Broken...)
	page.Next = alone.Next
	return page, nil
}

// listOperations is List for the operations alone.
func (l *protocol) listOperations(ctx context.Context, f Filter) (Page[operation.Record], error) {
	const what = "listing operations"
	if !f.Without.IsZero() {
		page, err := find(ctx, l.store, what, queryList(f)[0], l.readRecord)
		page.Items = slices.DeleteFunc(page.Items, func(rec operation.Record) bool { return !f.matches(rec) })
		return page, err
	}
	chunk := f.Limit
	if !f.Counted() {
		chunk = max(f.Limit, minChunk)
	}
	return search(ctx, l.store, what, queryList(f), chunk,
		func(doc Document) (rec operation.Record, matches bool, err error) {
			if f.leavesOut(doc) {
				return rec, false, nil
			}
			rec, err = l.readRecord(doc)
			return rec, f.matches(rec), err
		})
}

// Ends returns operations that have ended, the last to end first. Errors: the store's.
func (l operationsReader) Ends(ctx context.Context, after Cursor, limit int) (Page[operation.Record], error) {
	return find(ctx, l.store, "listing the newest completions", queryEnds(after, limit), l.readRecord)
}

// Count counts what List finds, in all its pages. The filter must be Counted. Errors: the
// store's.
func (l operationsReader) Count(ctx context.Context, f Filter) (Total, error) {
	if err := f.validate(); err != nil || !f.Counted() {
		return Total{}, errors.Join(errors.New("counting operations: no index counts all of the filter"), err)
	}
	f.After, f.Limit = Cursor{}, 1
	queries := queryList(f)
	if f.onlyDead() {
		queries = append(queries, queryWithoutRecord(f))
	}
	return l.count(ctx, "operations", queries...)
}
