package firestore

import (
	"context"
	"fmt"
	"time"

	cloud "cloud.google.com/go/firestore"

	"github.com/opledger/opledger/shared/ledger"
)

const (
	// maxAttempts: an ABORTED commit is not tried again by the client. Its pause of up to a second comes even after the last
	// attempt, and what is tried again after it rests on what was read before it. The ledger reads again instead, so every
	// pause is followed by a fresh look.
	maxAttempts = 1
	// commitTimeout bounds how long the client repeats a commit that is not answered; left alone it goes on for as long as
	// the caller's context, or a minute. It is far longer than any wait for a lock.
	commitTimeout = 10 * time.Second
)

// Commit writes all or nothing, in one transaction of preconditioned writes. It replaces a document's fields one by one, so
// that fields which only a newer program knows stay; those that this one knows and leaves out are removed.
//
// Errors: ErrConflict, also where another transaction held a lock; ErrInvalid; ErrUnavailable; the context's. After the last
// two it is not known whether something was written.
func (s *Store) Commit(ctx context.Context, writes ...ledger.Write) error {
	if len(writes) == 0 {
		return nil
	}
	changes := make([]change, len(writes))
	for i, w := range writes {
		var err error
		if changes[i], err = s.change(w); err != nil {
			return fmt.Errorf("writing %s: %w", w.Path, err)
		}
	}
	bounded, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	err := s.client.RunTransaction(bounded, func(_ context.Context, tx *cloud.Transaction) error {
		for i, c := range changes {
			if err := c(tx); err != nil { // a value that has no form in Firestore
				return fmt.Errorf("writing %s: %w: %w", writes[i].Path, ledger.ErrInvalid, err)
			}
		}
		return nil
	}, cloud.MaxAttempts(maxAttempts))
	return classifyCommit(ctx, "committing", err)
}

// A change adds one write, with its precondition, to a transaction.
type change func(*cloud.Transaction) error

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
		return func(tx *cloud.Transaction) error { return tx.Delete(ref, unchanged) }, nil
	}
	fields, err := fieldsOf(w.Data)
	if err != nil {
		return nil, err
	}
	updates := make([]cloud.Update, 0, len(fields)+1)
	counts := false // whether the writer counts versions itself
	for _, f := range fields {
		update := cloud.Update{FieldPath: cloud.FieldPath{f.name}, Value: f.value}
		if f.absent {
			update.Value = cloud.Delete
		}
		updates = append(updates, update)
		counts = counts || f.name == versionField
	}
	if !counts {
		updates = append(updates, cloud.Update{FieldPath: cloud.FieldPath{revisionField}, Value: cloud.FieldTransformIncrement(1)})
	}
	return func(tx *cloud.Transaction) error { return tx.Update(ref, updates, unchanged) }, nil
}

// To Firestore a write that leaves every field as it was is none: the update time, and so the token, stays.
const (
	// versionField is counted up by whoever writes a document that has it.
	versionField = "version"
	// revisionField is counted up by Firestore in every other document when it is written again.
	revisionField = "_revision"
)

// create returns the change that makes a document which must not exist. To delete what must not exist is a contradiction,
// and so a precondition that does not hold.
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
	return func(tx *cloud.Transaction) error { return tx.Create(ref, values) }, nil
}
