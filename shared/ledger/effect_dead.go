package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/opledger/opledger/shared/operation"
)

// DeadEffects returns the dead effects of operations, as List returned them: in their order, and
// those of one in the order of their names. One that is no longer dead, or was waived since, is left
// out. A document that cannot be read is Broken. It reads one document for each. Errors: the
// store's.
func (l *Ledger) DeadEffects(ctx context.Context, records []operation.Record) ([]Effect, []Broken, error) {
	var paths []Path
	for _, rec := range records {
		for _, name := range slices.Sorted(maps.Keys(rec.Effects)) {
			if rec.Effects[name] == operation.EffectDead {
				paths = append(paths, EffectPath(rec.Key, name))
			}
		}
	}
	if len(paths) == 0 {
		return nil, nil, nil
	}
	snapshot, err := l.store.Get(ctx, paths...)
	if err != nil {
		return nil, nil, fmt.Errorf("reading dead effects: %w", err)
	}
	var effects []Effect
	var unreadable []Broken
	for _, doc := range snapshot.Documents {
		effect, err := readEffect(doc)
		switch {
		case err != nil:
			unreadable = append(unreadable, broken(doc, err))
		case effect.Status() == operation.EffectDead:
			effects = append(effects, effect)
		}
	}
	return effects, unreadable, nil
}
