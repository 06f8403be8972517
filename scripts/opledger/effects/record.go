package effects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// recordOrAlerts returns the record of an operation. For a key without a record whose alerts are in
// the ledger, it makes a record of those.
func recordOrAlerts(ctx context.Context, l *ledger.Ledger, key operation.Key) (operation.Record, error) {
	rec, err := l.Operations.Read(ctx, key)
	if !errors.Is(err, ledger.ErrNotFound) {
		return rec, err
	}
	story, err := l.Operations.Show(ctx, key)
	rec.Key = key
	for _, effect := range story.Effects {
		rec = rec.WithEffect(effect.Name, effect.Status())
	}
	return rec, err
}

// noEffect says that an operation has no effect of that name, and suggests one of its effects or of
// others, or the command that ends with store. more follows the name.
func noEffect(rec operation.Record, name, more, store string, others ...string) error {
	suggestion := cmp.Or(diag.DidYouMean(name, append(slices.Sorted(maps.Keys(rec.Effects)), others...)),
		"; opledger show "+phrase.ShellWord(string(rec.Key))+store+" shows those it has")
	return fmt.Errorf("%s has no effect %s%s%s", phrase.Safe(string(rec.Key)), diag.Quote(name), more, suggestion)
}
