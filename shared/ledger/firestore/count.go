package firestore

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/opledger/opledger/shared/ledger"
)

// Count counts in Firestore, by the index of the same Query: one document read for each 1,000 that
// it counts, and at least one. Errors: as Query.
func (s *Store) Count(ctx context.Context, q ledger.Query, ceiling int) (int, error) {
	q.Limit = ceiling
	built, err := s.build(q)
	if err != nil {
		return 0, fmt.Errorf("counting %s: %w", q.Collection, err)
	}
	bounded, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	const alias = "found"
	counted, err := built.NewAggregationQuery().WithCount(alias).Get(bounded)
	if err != nil {
		return 0, classify(ctx, "counting "+q.Collection, err)
	}
	found, ok := counted[alias].(*firestorepb.Value)
	if !ok {
		return 0, fmt.Errorf("counting %s: Firestore answered %v: %w", q.Collection, counted, ledger.ErrUnavailable)
	}
	return int(found.GetIntegerValue()), nil
}
