package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/opledger/opledger/shared/operation"
)

// A Filter chooses operations for List. Its zero fields choose all.
type Filter struct {
	State      operation.State
	Collection operation.Collection
	Pending    bool   // only operations that are waited for, the one that is due next first
	Dead       bool   // only operations with an effect that is dead; not together with Pending
	After      Cursor // as List returned it
	Limit      int    // must be positive
}

// List returns operations, newest first, and where to continue; the zero Cursor when there is nothing behind.
func (l *Ledger) List(ctx context.Context, f Filter) ([]operation.Record, Cursor, error) {
	if f.Pending && f.Dead {
		return nil, Cursor{}, errors.New("listing operations: Pending and Dead exclude each other")
	}
	found, err := l.store.Query(ctx, queryList(f))
	if err != nil {
		return nil, Cursor{}, fmt.Errorf("listing operations: %w", err)
	}
	records := make([]operation.Record, len(found))
	for i, doc := range found {
		if records[i], err = readRecord(doc); err != nil {
			return nil, Cursor{}, err
		}
	}
	if len(records) < f.Limit {
		return records, Cursor{}, nil
	}
	last := len(records) - 1
	next := Cursor{At: records[last].CreatedAt, Path: found[last].Path}
	if f.Pending {
		next.At = records[last].DueAt
	}
	return records, next, nil
}

// Record returns what is known of one operation, without its story: one document read. ErrNotFound: the ledger has no such
// operation.
func (l *Ledger) Record(ctx context.Context, key operation.Key) (operation.Record, error) {
	snapshot, err := l.store.Get(ctx, OperationPath(key))
	if err != nil {
		return operation.Record{}, fmt.Errorf("reading %s: %w", key, err)
	}
	if !snapshot.Documents[0].Exists() {
		return operation.Record{}, fmt.Errorf("%s: %w", key, ErrNotFound)
	}
	return readRecord(snapshot.Documents[0])
}

// A Story is everything that the ledger knows of one operation.
type Story struct {
	// Record is absent where the effects are alerts about something that is no operation, or Forget was interrupted.
	Record     operation.Record `json:"record,omitzero"`
	Deliveries []Delivery       `json:"deliveries"` // in the order they came
	Effects    []Effect         `json:"effects"`    // in the order they were planned
}

// storyPage bounds one query of a story; a story is read to its end.
const storyPage = 200

// Show returns an operation's story, or that of a subject of AlertAbout. ErrNotFound: the ledger has nothing of that name.
func (l *Ledger) Show(ctx context.Context, key operation.Key) (Story, error) {
	var story Story
	var err, missing error
	if story.Record, err = l.Record(ctx, key); errors.Is(err, ErrNotFound) {
		missing = err
	} else if err != nil {
		return story, err
	}
	err = l.children(ctx, key, DeliveriesCollection, FieldReceivedAt, func(doc Document) (Cursor, error) {
		var d Delivery
		err := doc.Decode(&d)
		story.Deliveries = append(story.Deliveries, d)
		return Cursor{At: d.ReceivedAt, Path: doc.Path}, err
	})
	if err != nil {
		return story, err
	}
	err = l.children(ctx, key, EffectsCollection, FieldCreatedAt, func(doc Document) (Cursor, error) {
		effect, err := readEffect(doc)
		story.Effects = append(story.Effects, effect)
		return Cursor{At: effect.CreatedAt, Path: doc.Path}, err
	})
	if err == nil && len(story.Deliveries)+len(story.Effects) == 0 {
		err = missing
	}
	return story, err
}

func (l *Ledger) children(ctx context.Context, key operation.Key, collection, field string, add func(Document) (Cursor, error)) error {
	var after Cursor
	for {
		found, err := l.store.Query(ctx, queryChildren(key, collection, field, after, storyPage))
		if err != nil {
			return fmt.Errorf("reading the %s of %s: %w", collection, key, err)
		}
		for _, doc := range found {
			if after, err = add(doc); err != nil {
				return fmt.Errorf("reading %s: %w", doc.Path, err)
			}
		}
		if len(found) < storyPage {
			return nil
		}
	}
}
