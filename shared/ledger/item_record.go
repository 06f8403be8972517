package ledger

import (
	"context"
	"slices"
	"time"
)

// An ItemOutcome is what came of one attempt at an item.
type ItemOutcome struct {
	Index int64
	Key   string // of the item, which no other item of the operation has
	// Err is why it did not happen; nil where it did. Permanent: no further attempt fixes it.
	// Counts: something else in the same run succeeded, so that the failure is the item's own.
	Err       error
	Permanent bool
	Counts    bool
	// Untried: there was no attempt. A Returned item waits now like any other.
	Untried bool
	// Response or Error is the item in Gemini's own words. It is kept where the item becomes
	// FAILED, up to MaxKeptBytes; where there is neither, until when Gemini probably has it.
	Response, Error []byte
	// ExtraWrites are documents that are written in the commit that records a success: with it, once.
	ExtraWrites []Write
}

// MaxKeptBytes is the largest response that is kept of a FAILED item: with its quotes escaped it
// still fits into a document.
const MaxKeptBytes = 512 << 10

// ItemsBackoff returns how long a run leaves the rest alone whose progress is p: as long as an
// effect waits that has failed Tries times [S4]. So the attempts of an item are as far apart as those
// of an effect, also where others succeed in between; 0: none failed.
func (l *Ledger) ItemsBackoff(p ItemProgress) time.Duration {
	if p.Tries == 0 {
		return 0
	}
	return l.backoff(p.Tries, l.jitter())
}

// tellEvery is how often the record of an operation is told how far its effects have come, all of
// them together. Firestore takes about one write a second of one document for long.
const tellEvery = time.Second

// RecordItems records a chunk of items under the lease of their effect: an item's claim is its
// effect's. In one commit, which holds only while the effect is still the caller's [S6], it writes
// a document for each item, the riders of those that succeeded, how far the effect has come, and a
// lease that is as long as a new one. So a crash between two chunks repeats at most one of them.
// The operation's record is told in the same commit, where that was a second ago or more.
//
// at is the progress as the lease or the RecordItems before returned it, with the Total and the
// Length that the caller knows. outcomes are of items that are Wanted or were Returned; those from
// at.Next on are in their order and leave none out. An item is given up where its failure is
// permanent; where MaxAttempts failures counted; and where it failed MaxAttempts times and for
// RetryFor, whatever counted [S4]. A success or a permanent refusal starts the counts of the
// effect's attempts again: a run that is killed again and again, and comes further each time, does
// not die of it.
//
// It returns the new progress. Errors: ErrLeaseLost; else as Ingest, where nothing is known to be
// recorded of any of them; ErrInvalid and ErrContention may be due to one item's riders, ErrTooBig
// to all of them together. Calling it again is safe, with the same outcomes or with fewer of them
// from the first on: Recorded then says how many of the same were recorded, which may be more than
// those of the last call.
func (l *Ledger) RecordItems(ctx context.Context, lease Lease, at ItemProgress, outcomes []ItemOutcome) (ItemProgress, error) {
	paths := []Path{OperationPath(lease.Operation)}
	for _, o := range outcomes {
		if o.Index < at.Next { // tried before: it has a document
			paths = append(paths, lease.itemPath(o))
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
		c := chunk{ledger: l, lease: lease, now: now, record: docs[1], before: docs[2:], progress: at}
		if err := c.add(outcomes); err != nil {
			return err
		}
		if tries++; tries > 1 { // perhaps because a rider is there already
			var err error
			if c.riders, err = l.versioned(ctx, c.riders); err != nil {
				return err
			}
		}
		next = c.progress
		effect.Progress = &next
		if c.advanced {
			effect.Attempts, effect.Interrupted, effect.Failing = 1, 0, nil
		}
		effect.ClaimableAt = now.Add(l.settings.ClaimTTL)
		effect.DueAt = effect.ClaimableAt
		told, err := l.tell(docs[1], effect, now, tellEvery)
		if err != nil {
			return err
		}
		writes := slices.Concat([]Write{l.writeEffect(docs[0], effect)}, c.items, told, unversioned(c.riders))
		return l.store.Commit(ctx, writes...)
	}, paths...)
	if err != nil {
		return ItemProgress{}, err
	}
	return next, nil
}

// UpdateProgress records what the caller knows of all items together, where that is not recorded
// yet: at.Total and at.Length. It brings the operation's record up to date. at is as for
// RecordItems. It returns the new progress. Errors: as Finish; calling it again is safe.
func (l *Ledger) UpdateProgress(ctx context.Context, lease Lease, at ItemProgress) (ItemProgress, error) {
	err := l.withEffect(ctx, lease, "recording the progress of", func(effect Effect, docs []Document, now time.Time) error {
		if !effect.heldBy(lease) {
			return ErrLeaseLost
		}
		known := effect.progress()
		changed := known.Total != at.Total || known.Length != at.Length
		known.Total, known.Length = at.Total, at.Length
		effect.Progress = &known
		writes, err := l.tell(docs[1], effect, now, 0)
		if err != nil || !changed && len(writes) == 0 {
			return err
		}
		return l.store.Commit(ctx, append(writes, l.writeEffect(docs[0], effect))...)
	}, OperationPath(lease.Operation))
	if err != nil {
		return ItemProgress{}, err
	}
	return at, nil
}

// tell returns the write that tells an operation's record how far an effect has come, where that is
// news and the record was last told every ago or before.
func (l *Ledger) tell(doc Document, effect Effect, now time.Time, every time.Duration) ([]Write, error) {
	rec, err := readRecord(doc)
	progress := effect.Progress.counts()
	if err != nil || !doc.Exists() || rec.Progress[effect.Name] == progress || now.Sub(rec.ProgressAt) < every {
		return nil, err
	}
	_, write := l.writeRecord(doc, rec.WithProgress(effect.Name, progress, now), now)
	return []Write{write}, nil
}
