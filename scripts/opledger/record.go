package main

import (
	"context"
	"errors"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// recordOrAlerts returns the record of an operation. For a key without a record whose alerts are in
// the ledger, it makes a record of those.
func recordOrAlerts(ctx context.Context, l *ledger.Ledger, key operation.Key) (operation.Record, error) {
	rec, err := l.Record(ctx, key)
	if !errors.Is(err, ledger.ErrNotFound) {
		return rec, err
	}
	story, err := l.Show(ctx, key)
	rec.Key = key
	for _, effect := range story.Effects {
		rec = rec.WithEffect(effect.Name, effect.Status())
	}
	return rec, err
}
