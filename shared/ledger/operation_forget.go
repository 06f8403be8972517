package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// ErrHeld: a worker holds the lease of an effect.
var ErrHeld = errors.New("an effect is being run")

// family are the collections under an operation, and a time field of each. The effects are first,
// because one may be held.
var family = []struct{ collection, field string }{
	{EffectsCollection, FieldCreatedAt},
	{DeliveriesCollection, FieldReceivedAt},
}

// forgetPage bounds one commit of Forget, far below any store's limit.
const forgetPage = 100

// Forget deletes an operation and everything under it: effects with their items, deliveries, its
// intent, and last its record. It returns how many documents that were. It alone deletes unfinished
// work [S7, L3]: it is for the erasure of personal data. If the operation is registered again, its
// effects run again. A subject of AlertAbout can be forgotten, too. Of a job it deletes the plan, its
// parts, their batches and their places among those that run as well. What is in job storage stays.
//
// It goes in steps. Each is a commit that holds only while nothing changes what it deletes. A crash
// between two of them leaves an operation with a record and without some of its documents: call
// Forget again. Nothing runs because of that, since the record still names the effects.
//
// While a worker holds the lease of an effect it refuses with ErrHeld, which has the end of the
// lease, before it deletes anything (of more than a hundred effects, some may be gone): what the
// worker does must be recorded. Of a concurrent claim and Forget one wins: the worker finds no
// effect, or Forget finds it held. A concurrent event may leave its delivery, which expires. A
// later event creates an unregistered record, and runs nothing [W5].
//
// Other errors: ErrNotFound, where there is nothing; ErrJobPending, of a job that has not ended; ErrPart, of
// a batch that a job needs; else as Ingest.
func (l Operations) Forget(ctx context.Context, key operation.Key) (int, error) {
	f := forgetting{ledger: l.protocol, key: key, seen: map[Path]bool{}}
	err := l.retry(ctx, "forgetting "+string(key), func(int) error { return f.try(ctx) })
	if err != nil {
		return 0, err
	}
	return len(f.seen), nil
}

// A forgetting is one call of Forget, over all its tries.
type forgetting struct {
	ledger *protocol
	key    operation.Key
	// seen are the documents that were found and deleted, also where a commit's answer was lost.
	seen map[Path]bool
}

func (f *forgetting) try(ctx context.Context) error {
	if err := f.all(ctx); err != nil {
		return err
	}
	if len(f.seen) == 0 {
		return ErrNotFound
	}
	return nil
}

// all deletes whatever there is of the operation.
func (f *forgetting) all(ctx context.Context) error {
	rec, record, _, err := f.ledger.record(ctx, f.key)
	if err != nil { // before anything is deleted: it may be another program's
		return err
	}
	if err := f.refused(ctx, record, rec); err != nil {
		return err
	}
	if err := f.children(ctx, record, f.key); err != nil {
		return err
	}
	if err := f.job(ctx, record); err != nil {
		return err
	}
	last, err := f.root(ctx, record, rec)
	if err != nil || len(last) == 0 {
		return err
	}
	return f.delete(ctx, last)
}

// children deletes what is under the path of an operation's record, or of one that a part would have.
func (f *forgetting) children(ctx context.Context, record Document, of operation.Key) error {
	for _, children := range family {
		q := queryChildren(of, children.collection, children.field, Cursor{}, forgetPage)
		if err := f.pages(ctx, record, q); err != nil {
			return err
		}
	}
	return nil
}

// pages deletes all that a query finds, page by page.
func (f *forgetting) pages(ctx context.Context, record Document, q Query) error {
	for {
		if more, err := f.page(ctx, record, q); err != nil || !more {
			return err
		}
	}
}

// page deletes a page of one collection, and reports whether there may be more.
func (f *forgetting) page(ctx context.Context, record Document, q Query) (bool, error) {
	found, err := f.ledger.store.Query(ctx, q)
	if err != nil || len(found) == 0 {
		return false, err
	}
	// The documents belong to the record that is deleted only while it is unchanged. Otherwise the
	// operation may have been registered again meanwhile, with new effects.
	_, still, read, err := f.ledger.record(ctx, f.key)
	if err != nil {
		return false, err
	}
	if still.Token != record.Token {
		return false, ErrConflict
	}
	switch q.Collection {
	case EffectsCollection:
		err = f.effects(ctx, found, read.ReadTime)
	case PartsCollection:
		err = f.parts(ctx, record, found)
	}
	if err != nil {
		return false, err
	}
	return len(found) == forgetPage, f.delete(ctx, found)
}

// effects deletes the items of effects, of which none may be held. They are found only by their effect.
func (f *forgetting) effects(ctx context.Context, found []Document, now time.Time) error {
	for _, doc := range found {
		effect, err := readEffect(doc)
		if err = errors.Join(err, effect.held(now)); err != nil {
			return err
		}
	}
	for _, doc := range found {
		if err := f.items(ctx, doc.Path); err != nil {
			return err
		}
	}
	return nil
}

// items deletes the items of an effect. A worker that claims it meanwhile keeps it, and continues
// from its progress.
func (f *forgetting) items(ctx context.Context, effect Path) error {
	for {
		found, err := f.ledger.store.Query(ctx, queryItems(effect, FieldCreatedAt, Cursor{}, forgetPage))
		if err != nil || len(found) == 0 {
			return err
		}
		if err := f.delete(ctx, found); err != nil || len(found) < forgetPage {
			return err
		}
	}
}

// root returns the record and its intent, where they exist. A concurrent write to the record, which
// may have added documents under it, makes their commit conflict.
func (f *forgetting) root(ctx context.Context, record Document, rec operation.Record) ([]Document, error) {
	if !record.Exists() {
		return nil, nil
	}
	if rec.CorrelationID == "" {
		return []Document{record}, nil
	}
	intent, doc, _, err := f.ledger.intent(ctx, rec.CorrelationID)
	if err != nil || !doc.Exists() || intent.Operation != f.key {
		return []Document{record}, err
	}
	return []Document{doc, record}, nil
}

// delete deletes documents in one commit, or in several where they are too large together:
// Firestore counts the size of a deleted document.
func (f *forgetting) delete(ctx context.Context, found []Document) error {
	writes := make([]Write, len(found))
	for i, doc := range found {
		f.seen[doc.Path] = true
		writes[i] = Write{Path: doc.Path, Token: doc.Token}
	}
	err := f.ledger.commit(ctx, writes...)
	if half := len(found) / 2; half > 0 && errors.Is(err, ErrTooBig) {
		if err = f.delete(ctx, found[:half]); err == nil {
			err = f.delete(ctx, found[half:])
		}
	}
	return err
}

// held returns ErrHeld while a worker holds the effect's lease.
func (e Effect) held(now time.Time) error {
	if e.State != EffectClaimed || !e.ClaimableAt.After(now) {
		return nil
	}
	return fmt.Errorf("%w: %s, until %s at the latest", ErrHeld, e.Name, e.ClaimableAt.Format(time.RFC3339))
}
