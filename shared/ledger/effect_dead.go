package ledger

import (
	"context"
	"maps"
	"slices"

	"github.com/opledger/opledger/shared/operation"
)

// Dead returns the dead effects of operations, as List returned them: in their order, and
// those of one in the order of their names. One that is no longer dead, or was waived since, is left
// out. A document that cannot be read is Broken. It reads one document for each. Errors: the
// store's.
func (l effectsReader) Dead(ctx context.Context, records []operation.Record) ([]Effect, []Broken, error) {
	var names []EffectName
	for _, rec := range records {
		for _, name := range slices.Sorted(maps.Keys(rec.Effects)) {
			if rec.Effects[name] == operation.EffectDead {
				names = append(names, EffectName{rec.Key, name})
			}
		}
	}
	effects, unreadable, err := l.Read(ctx, names...)
	return slices.DeleteFunc(effects, func(e Effect) bool { return e.Status() != operation.EffectDead }), unreadable, err
}
