package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// An EffectName names an effect of an operation, or one run of it.
type EffectName struct {
	Operation operation.Key
	Effect    string
}

// Read reads effects. Those that are there come in the order of their names. A document that
// cannot be read is Broken. It reads one document for each. Errors: the store's.
func (l effectsReader) Read(ctx context.Context, names ...EffectName) ([]Effect, []Broken, error) {
	if len(names) == 0 {
		return nil, nil, nil
	}
	paths := make([]Path, len(names))
	for i, name := range names {
		paths[i] = EffectPath(name.Operation, name.Effect)
	}
	snapshot, err := l.store.Get(ctx, paths...)
	if err != nil {
		return nil, nil, fmt.Errorf("reading effects: %w", err)
	}
	var effects []Effect
	var unreadable []Broken
	for _, doc := range snapshot.Documents {
		effect, err := readEffect(doc)
		switch {
		case err != nil:
			unreadable = append(unreadable, broken(doc, err))
		case doc.Exists():
			effects = append(effects, effect)
		}
	}
	return effects, unreadable, nil
}

// Failing returns open effects that have been failing since before or longer, the longest
// first. Errors: the store's.
func (l effectsReader) Failing(
	ctx context.Context, before time.Time, after Cursor, limit int,
) (Page[Effect], error) {
	queries := queryFailing(before, after, limit)
	return search(ctx, l.store, "listing failing effects", queries, limit, func(doc Document) (Effect, bool, error) {
		e, err := readEffect(doc)
		return e, !e.FailingSince.IsZero() && !e.FailingSince.After(before), err
	})
}
