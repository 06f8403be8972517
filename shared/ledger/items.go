package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// An ItemOutcome is what came of one attempt at an item.
type ItemOutcome struct {
	Index int64
	Key   string // of the item, which no other item of the operation has
	// Err is why it did not happen; nil where it did. Permanent: no further attempt mends it.
	Err       error
	Permanent bool
	// Riders are documents that are written in the commit that records a success: with it, once.
	Riders []Write
}

// RecordItems records a chunk of items under the lease of their effect: an item's claim is its effect's. In one commit, which
// holds only while the effect is still the caller's [S6], it writes a document for each item, the riders of those that
// succeeded, how far the effect has come, there and in its operation's record, and a lease that is as long as a new one. So a
// crash between two chunks repeats at most one of them.
//
// at is the progress as the lease or the RecordItems before returned it, with the Total that the caller knows. outcomes are in
// the order of their indexes, all Wanted, and leave out none from at.Next on up to the last. An item that failed is given up
// after MaxAttempts recorded attempts. One that came to its end starts the count of the effect's attempts anew: a run that is
// killed again and again, and comes further each time, does not die of it.
//
// It returns the new progress. Errors: ErrLeaseLost; else as Ingest, where nothing is known to be recorded of any of them;
// ErrInvalid and ErrContention may be due to one item's riders, ErrTooBig to all of them together. Calling it again is safe, with
// the same outcomes or with fewer of them from the first on: Recorded then says how many of the same were recorded, which may be
// more than those of the last call.
func (l *Ledger) RecordItems(ctx context.Context, lease Lease, at ItemProgress, outcomes []ItemOutcome) (ItemProgress, error) {
	paths := []Path{OperationPath(lease.Operation)}
	for _, o := range outcomes {
		if o.Index < at.Next { // tried before: it has a document
			paths = append(paths, ItemPath(lease.Operation, lease.Effect, o.Key))
		}
	}
	var next ItemProgress
	tries := 0
	err := l.withEffect(ctx, lease, "recording items of", func(effect Effect, docs []Document, now time.Time) error {
		if !effect.heldBy(lease) {
			return ErrLeaseLost
		}
		if next = effect.progress(); next.Chunks == at.Chunks+1 { // by us before; the answer was lost
			return nil
		}
		c := chunk{ledger: l, lease: lease, now: now, before: docs[2:], progress: at}
		if err := c.add(outcomes); err != nil {
			return err
		}
		next = c.progress
		if tries++; tries > 1 { // perhaps because a rider is there already
			var err error
			if c.riders, err = l.versioned(ctx, c.riders); err != nil {
				return err
			}
		}
		effect.Progress = &next
		if c.ended {
			effect.Attempts, effect.Interrupted, effect.Failing = 1, 0, nil
		}
		effect.ClaimableAt = now.Add(l.settings.ClaimTTL)
		effect.DueAt = effect.ClaimableAt
		writes := append([]Write{l.writeEffect(docs[0], effect)}, c.items...)
		if docs[1].Exists() {
			rec, err := readRecord(docs[1])
			if err != nil {
				return err
			}
			_, write := l.writeRecord(docs[1], rec.WithProgress(effect.Name, next.counts()), now)
			writes = append(writes, write)
		}
		return l.store.Commit(ctx, append(writes, unversioned(c.riders)...)...)
	}, paths...)
	if err != nil {
		return ItemProgress{}, err
	}
	return next, nil
}

// A chunk is what one commit records of items.
type chunk struct {
	ledger   *Ledger
	lease    Lease
	now      time.Time
	before   []Document // of the items that were tried before, in order
	progress ItemProgress
	ended    bool // whether an item came to its end
	items    []Write
	riders   []Write
}

func (c *chunk) add(outcomes []ItemOutcome) error {
	c.progress.Chunks++
	c.progress.Recorded = len(outcomes)
	c.progress.Waiting = slices.Clone(c.progress.Waiting)
	first := c.progress.Next
	for _, o := range outcomes {
		path := ItemPath(c.lease.Operation, c.lease.Effect, o.Key)
		doc, item := Document{Path: path}, Item{CreatedAt: c.now}
		if o.Index < first {
			doc, c.before = c.before[0], c.before[1:]
			if err := doc.Decode(&item); err != nil {
				return err
			}
		} else {
			c.progress.Next = o.Index + 1
		}
		c.items = append(c.items, Write{Path: path, Token: doc.Token, Data: c.outcome(item, o)})
	}
	return nil
}

// outcome counts what came of an item and returns its document.
func (c *chunk) outcome(item Item, o ItemOutcome) Item {
	key := printable(o.Key)
	item.Schema, item.Version = operation.SchemaVersion, item.Version+1
	item.Operation, item.Effect, item.Key, item.Index = c.lease.Operation, c.lease.Effect, key, o.Index
	item.IdempotencyKey = operation.ItemIdempotencyKey(item.Operation, item.Effect, key)
	item.Fence = c.lease.Fence
	item.Attempts++
	item.ExpireAt = c.now.Add(2 * c.ledger.settings.Retention)
	at, waited := slices.BinarySearch(c.progress.Waiting, o.Index)
	if o.Err != nil {
		item.LastError = shorten(o.Err.Error())
	}
	switch {
	case o.Err == nil:
		item.State = ItemDone
		c.progress.Done++
		c.riders = append(c.riders, o.Riders...)
	case o.Permanent || item.Attempts >= c.ledger.settings.MaxAttempts:
		item.State = ItemFailed
		c.progress.Failed++
	default:
		item.State = ItemPending
		if !waited {
			c.progress.Waiting = slices.Insert(c.progress.Waiting, at, o.Index)
		}
		return item
	}
	c.ended = true
	if waited {
		c.progress.Waiting = slices.Delete(c.progress.Waiting, at, at+1)
	}
	return item
}
