//lint:file-ignore SA1019 WriteBatch is one atomic request: BulkWriter is not atomic, a transaction takes two

package firestore

import (
	"context"
	"fmt"
	"time"

	cloud "cloud.google.com/go/firestore"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// commitTimeout bounds how long the client repeats an unanswered commit: otherwise as long as the
// caller's context, or a minute. It is far longer than any wait for a lock.
const commitTimeout = 10 * time.Second

// Commit writes all or nothing, in one request of preconditioned writes. It replaces a document's
// fields one by one: fields that only a newer revision knows stay; those that this one knows and
// leaves out are removed.
//
// Errors: ErrConflict, also where another commit held a lock; ErrInvalid; ErrUnavailable; the
// context's. After the last two the writes may have been made.
func (s *Store) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	if len(writes) == 0 {
		return nil, nil
	}
	batch := s.client.Batch()
	for _, w := range writes {
		add, err := s.change(w)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", w.Path, err)
		}
		add(batch)
	}
	bounded, cancel := context.WithTimeout(ctx, s.commitTimeout)
	defer cancel()
	var sent repeats
	results, err := batch.Commit(sent.count(bounded))
	if err != nil {
		return nil, classifyCommit(ctx, err, int(sent.n.Load()))
	}
	return tokens(writes, results), nil
}

// tokens returns the documents' new tokens after a commit. Every write changes its document, so
// that the update time of each is the time of the commit.
func tokens(writes []ledger.Write, results []*cloud.WriteResult) []ledger.Token {
	var committed time.Time
	for _, result := range results {
		committed = operation.Later(committed, result.UpdateTime) // a deletion has none
	}
	made := make([]ledger.Token, len(writes))
	for i, w := range writes {
		if w.Data != nil {
			made[i] = tokenOf(committed)
		}
	}
	return made
}

// A change adds one write, with its precondition, to a batch.
type change func(*cloud.WriteBatch)

func (s *Store) change(w ledger.Write) (change, error) {
	ref, err := s.ref(w.Path)
	if err != nil {
		return nil, err
	}
	if w.Token == "" {
		return create(ref, w.Data)
	}
	updateTime, err := updateTimeOf(w.Token)
	if err != nil {
		return nil, err
	}
	unchanged := cloud.LastUpdateTime(updateTime)
	if w.Data == nil {
		return func(b *cloud.WriteBatch) { b.Delete(ref, unchanged) }, nil
	}
	fields, err := fieldsOf(w.Data)
	if err != nil {
		return nil, err
	}
	updates := make([]cloud.Update, 0, len(fields)+1)
	counts := false // whether the document counts its versions itself
	for _, f := range fields {
		update := cloud.Update{FieldPath: cloud.FieldPath{f.name}, Value: f.value}
		if f.absent {
			update.Value = cloud.Delete
		}
		updates = append(updates, update)
		counts = counts || f.name == versionField
	}
	if !counts {
		updates = append(
			updates, cloud.Update{FieldPath: cloud.FieldPath{revisionField}, Value: cloud.FieldTransformIncrement(1)},
		)
	}
	return func(b *cloud.WriteBatch) { b.Update(ref, updates, unchanged) }, nil
}

// Firestore ignores a write that changes no field: the update time, and so the token, stays.
const (
	// versionField is incremented by every write of a document that has it.
	versionField = "version"
	// revisionField is incremented by Firestore in every other document that is written again.
	revisionField = "_revision"
)

// create returns the change that creates a document. Deleting a document that must not exist is a
// contradiction, and so an ErrConflict.
func create(ref *cloud.DocumentRef, data any) (change, error) {
	if data == nil {
		return nil, fmt.Errorf("it cannot be deleted while it must not exist: %w", ledger.ErrConflict)
	}
	fields, err := fieldsOf(data)
	if err != nil {
		return nil, err
	}
	values := make(map[string]any, len(fields))
	for _, f := range fields {
		if !f.absent {
			values[f.name] = f.value
		}
	}
	return func(b *cloud.WriteBatch) { b.Create(ref, values) }, nil
}
