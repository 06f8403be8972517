package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// ErrHeld: a worker holds a lease of one of the effects.
var ErrHeld = errors.New("an effect is being run")

// family are the documents under an operation, and the time field that each has. The effects are first: they may be held.
var family = []struct{ collection, field string }{
	{EffectsCollection, FieldCreatedAt},
	{DeliveriesCollection, FieldReceivedAt},
}

// forgetPage bounds one commit of Forget, far below what a store takes.
const forgetPage = 100

// Forget deletes an operation with everything under it: effects with their items, deliveries, its intent, and in the end its
// record. It returns how many documents those were. Nothing else deletes what is not done [S7, L3]: it is for a person's data,
// and nothing is remembered that would keep the effects from running, should the operation be registered once more. A subject
// of AlertAbout can be forgotten, too.
//
// It goes in steps, each a commit that holds only while nobody changed what is deleted. A crash between two of them leaves an
// operation with a record and without some of its documents: call Forget again, which goes on. Nothing runs because of that,
// since the record still names the effects.
//
// While a worker holds a lease of an effect it refuses with ErrHeld, which says until when, before anything is deleted (of more
// than a hundred effects, some may be): what the worker does must not go unrecorded. Of a claim and Forget at the same time one
// wins: the worker finds no effect, or Forget finds it held. A report that arrives meanwhile may leave its delivery, which
// expires; one that arrives afterwards makes a record that nobody registered, and runs nothing [W5].
//
// Other errors: ErrNotFound, where there is nothing; else as Ingest.
func (l *Ledger) Forget(ctx context.Context, key operation.Key) (int, error) {
	f := forgetting{ledger: l, key: key, seen: map[Path]bool{}}
	err := l.decide(ctx, "forgetting "+string(key), func(int) error { return f.try(ctx) })
	if err != nil {
		return 0, err
	}
	return len(f.seen), nil
}

// A forgetting is one call of Forget, over all its tries.
type forgetting struct {
	ledger *Ledger
	key    operation.Key
	// seen are the documents that were to be deleted. In the end none of them is there any more, also where an answer was lost.
	seen map[Path]bool
}

func (f *forgetting) try(ctx context.Context) error {
	record, _, err := f.record(ctx)
	if err != nil {
		return err
	}
	if _, err := readRecord(record); err != nil { // before anything is deleted that may be another program's
		return err
	}
	for _, children := range family {
		for more := true; more; {
			if more, err = f.page(ctx, record, children.collection, children.field); err != nil {
				return err
			}
		}
	}
	last, err := f.root(ctx, record)
	if err != nil {
		return err
	}
	if len(last) > 0 {
		return f.delete(ctx, last)
	}
	if len(f.seen) == 0 {
		return ErrNotFound
	}
	return nil
}

func (f *forgetting) record(ctx context.Context) (Document, time.Time, error) {
	snapshot, err := f.ledger.store.Get(ctx, OperationPath(f.key))
	if err != nil {
		return Document{}, time.Time{}, err
	}
	return snapshot.Documents[0], snapshot.ReadTime, nil
}

// page deletes some of the documents of one collection, and reports whether there may be more.
func (f *forgetting) page(ctx context.Context, record Document, collection, field string) (bool, error) {
	found, err := f.ledger.store.Query(ctx, queryChildren(f.key, collection, field, Cursor{}, forgetPage))
	if err != nil || len(found) == 0 {
		return false, err
	}
	// What was found is of the life that is to be forgotten only if the record is still that: otherwise somebody may just have
	// registered the operation anew, and planned effects.
	still, now, err := f.record(ctx)
	if err != nil {
		return false, err
	}
	if still.Token != record.Token {
		return false, ErrConflict
	}
	if collection == EffectsCollection {
		for _, doc := range found {
			effect, err := readEffect(doc)
			if err = errors.Join(err, effect.held(now)); err != nil {
				return false, err
			}
		}
		for _, doc := range found { // a crash must leave the effect, by which its items are found
			if err := f.items(ctx, doc.Path); err != nil {
				return false, err
			}
		}
	}
	return len(found) == forgetPage, f.delete(ctx, found)
}

// items deletes the items of an effect. Whoever claims it meanwhile keeps it, and goes on where its progress says.
func (f *forgetting) items(ctx context.Context, effect Path) error {
	for {
		found, err := f.ledger.store.Query(ctx, queryItems(effect, forgetPage))
		if err != nil || len(found) == 0 {
			return err
		}
		if err := f.delete(ctx, found); err != nil || len(found) < forgetPage {
			return err
		}
	}
}

// root returns the record and its intent, where they exist: whoever changed the record meanwhile, and so may have added to what
// is under it, makes the commit fail.
func (f *forgetting) root(ctx context.Context, record Document) ([]Document, error) {
	if !record.Exists() {
		return nil, nil
	}
	rec, err := readRecord(record)
	if err != nil || rec.CorrelationID == "" {
		return []Document{record}, err
	}
	doc, intent, err := f.ledger.intent(ctx, rec.CorrelationID)
	if err != nil || !doc.Exists() || intent.Operation != f.key {
		return []Document{record}, err
	}
	return []Document{doc, record}, nil
}

// delete deletes documents in one commit, or in several where they are too big together: to Firestore a document that is deleted
// is as big as it was.
func (f *forgetting) delete(ctx context.Context, found []Document) error {
	writes := make([]Write, len(found))
	for i, doc := range found {
		f.seen[doc.Path] = true
		writes[i] = Write{Path: doc.Path, Token: doc.Token}
	}
	err := f.ledger.store.Commit(ctx, writes...)
	if half := len(found) / 2; half > 0 && errors.Is(err, ErrTooBig) {
		if err = f.delete(ctx, found[:half]); err == nil {
			err = f.delete(ctx, found[half:])
		}
	}
	return err
}

// held returns ErrHeld while somebody holds the effect's lease.
func (e Effect) held(now time.Time) error {
	if e.State != EffectClaimed || !e.ClaimableAt.After(now) {
		return nil
	}
	return fmt.Errorf("%w: %s, until %s at the latest", ErrHeld, e.Name, e.ClaimableAt.Format(time.RFC3339))
}
