package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// Read returns an operation's record: one document read. ErrNotFound: the ledger has no such
// operation.
func (l operationsReader) Read(ctx context.Context, key operation.Key) (operation.Record, error) {
	rec, doc, _, err := l.record(ctx, key)
	if err == nil && !doc.Exists() {
		err = fmt.Errorf("%s: %w", key, ErrNotFound)
	}
	return rec, err
}

// Find returns the keys that a name may mean. A name with a collection means one, which may be absent
// from the ledger. A bare id means each operation in the ledger that has it, in any collection: one
// document is read for each collection. Errors: the store's.
func (l operationsReader) Find(ctx context.Context, name operation.Name) ([]operation.Key, error) {
	if name.Key.Collection() != "" || strings.Contains(name.Resource, "/") {
		return []operation.Key{name.Key}, nil
	}
	var found []operation.Key
	for _, collection := range operation.Collections() {
		full, err := operation.ParseName(name.Resource, collection)
		if err != nil {
			return nil, err
		}
		_, err = l.Read(ctx, full.Key)
		switch {
		case err == nil, errors.As(err, new(Broken)):
			found = append(found, full.Key)
		case !errors.Is(err, ErrNotFound):
			return nil, err
		}
	}
	return found, nil
}

// FindDelivery returns the key of the operation that the last delivery of that id was about: one query, and one
// document read. ErrNotFound: no delivery of that whole id is known, or it has expired. Errors: a record that cannot
// be read; the store's.
func (l operationsReader) FindDelivery(ctx context.Context, id string) (operation.Key, error) {
	under := func(doc Document) (Path, error) { return doc.Path.Parent(), nil }
	page, err := find(ctx, l.store, "finding the delivery "+diag.Quote(id), queryDeliveries(printable(id), 1), under)
	if err != nil {
		return "", err
	}
	if len(page.Items) == 0 {
		return "", fmt.Errorf("the delivery %s: %w", diag.Quote(id), ErrNotFound)
	}
	snapshot, err := l.store.Get(ctx, page.Items[0])
	if err != nil {
		return "", fmt.Errorf("reading the operation of the delivery %s: %w", diag.Quote(id), err)
	}
	if !snapshot.Documents[0].Exists() {
		return "", fmt.Errorf("the operation of the delivery %s: %w", diag.Quote(id), ErrNotFound)
	}
	rec, err := l.readRecord(snapshot.Documents[0])
	return rec.Key, err
}

// A Story is everything that the ledger has of one operation.
type Story struct {
	// Record is absent where the effects are alerts about something that is no operation, and after
	// an interrupted Forget.
	Record     operation.Record `json:"record,omitzero"`
	Deliveries []Delivery       `json:"deliveries"`       // in the order of their arrival
	Effects    []Effect         `json:"effects"`          // in the order of their planning
	Broken     []Broken         `json:"broken,omitempty"` // what could not be read, perhaps the record
}

// storyPage bounds one query of a story; a story is read to its end.
const storyPage = 200

// Show returns an operation's story, or that of a subject of AlertAbout. A document that cannot be
// read is in Broken, beside the rest. ErrNotFound: the ledger has nothing with that name.
func (l operationsReader) Show(ctx context.Context, key operation.Key) (Story, error) {
	var story Story
	var missing error
	var unreadable Broken
	rec, err := l.Read(ctx, key)
	switch {
	case err == nil:
		story.Record = rec
	case errors.Is(err, ErrNotFound):
		missing = err
	case errors.As(err, &unreadable):
		story.Broken = append(story.Broken, unreadable)
	default:
		return story, err
	}
	story.Deliveries, err = children(ctx, l.protocol, key, DeliveriesCollection, FieldReceivedAt, &story, readDelivery)
	if err == nil {
		story.Effects, err = children(ctx, l.protocol, key, EffectsCollection, FieldCreatedAt, &story, readEffect)
	}
	if err == nil && len(story.Deliveries)+len(story.Effects)+len(story.Broken) == 0 {
		err = missing
	}
	return story, err
}

func readDelivery(doc Document) (Delivery, error) {
	var d Delivery
	err := doc.Decode(&d)
	return d, err
}

// children reads all documents of one kind under an operation. Those that cannot be read are added
// to the story.
func children[T any](
	ctx context.Context, l *protocol, key operation.Key, collection, field string, story *Story,
	read func(Document) (T, error),
) (all []T, err error) {
	what := fmt.Sprintf("reading the %s of %s", collection, key)
	for more, after := true, (Cursor{}); more; more = after.Path != "" {
		page, err := find(ctx, l.store, what, queryChildren(key, collection, field, after, storyPage), read)
		if err != nil {
			return all, err
		}
		all, story.Broken = append(all, page.Items...), append(story.Broken, page.Broken...)
		after = page.Next
	}
	return all, nil
}
