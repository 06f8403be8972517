package firestore

import (
	"context"
	"fmt"
	"time"

	cloud "cloud.google.com/go/firestore"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Query reads through one of the indexes of Indexes. Errors: ErrInvalid, for a malformed query;
// ErrUnavailable, also where an index is missing; the context's.
func (s *Store) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	built, err := s.build(q)
	if err != nil {
		return nil, fmt.Errorf("querying %s: %w", q.Collection, err)
	}
	bounded, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	snapshots, err := built.Documents(bounded).GetAll()
	if err != nil {
		return nil, classify(ctx, "querying "+q.Collection, err)
	}
	documents, _ := documentsOf(snapshots)
	for i, snapshot := range snapshots {
		at, err := snapshot.DataAtPath(cloud.FieldPath{q.OrderBy})
		if err != nil {
			return nil, fmt.Errorf("querying %s: %w", q.Collection, err) // it was found by that field
		}
		documents[i].At, _ = at.(time.Time)
	}
	return documents, nil
}

// build translates a query. The error is ErrInvalid.
func (s *Store) build(q ledger.Query) (*cloud.Query, error) {
	if q.Limit < 1 {
		return nil, fmt.Errorf("the limit %d is not positive: %w", q.Limit, ledger.ErrInvalid)
	}
	built := s.client.CollectionGroup(q.Collection).Query
	if q.Under != "" {
		parent, err := s.ref(q.Under)
		if err != nil {
			return nil, err
		}
		built = parent.Collection(q.Collection).Query
	}
	for _, equal := range q.Where {
		built = built.WherePath(cloud.FieldPath{equal.Field}, "==", equal.Value)
	}
	// Only values that compare with a time are found: another program's field may hold anything.
	built = built.WherePath(cloud.FieldPath{q.OrderBy}, ">=", operation.Instant(q.NotBefore))
	if !q.NotAfter.IsZero() {
		built = built.WherePath(cloud.FieldPath{q.OrderBy}, "<=", operation.Instant(q.NotAfter))
	}
	direction := cloud.Asc
	if q.Descending {
		direction = cloud.Desc
	}
	built = built.OrderByPath(cloud.FieldPath{q.OrderBy}, direction).OrderBy(cloud.DocumentID, direction).Limit(q.Limit)
	if q.After.Path != "" {
		after, err := s.ref(q.After.Path)
		if err != nil {
			return nil, err
		}
		built = built.StartAfter(operation.Instant(q.After.At), after)
	}
	return &built, nil
}
