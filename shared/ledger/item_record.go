package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// An ItemOutcome is the result of one attempt at an item.
type ItemOutcome struct {
	Index int64  // where it stands in the result
	Key   string // of the item, unique in its operation
	// Known: it has an outcome, and so a document.
	Known bool
	// Err is the failure; nil for a success. Permanent: no further attempt helps. Counts: another
	// item of the same run succeeded, so that the failure is the item's own.
	Err       error
	Permanent bool
	Counts    bool
	// Untried: there was no attempt. A Returned item then waits like any other.
	Untried bool
	// Response or Error is the item as Gemini wrote it. It is kept where the item becomes FAILED,
	// up to MaxKeptBytes. Where neither is kept, the item says until when Gemini probably has it.
	Response, Error []byte
	// ExtraWrites are documents that are written in the commit that records a success: once, or not
	// at all.
	ExtraWrites []Write
}

// MaxKeptBytes is the largest response that is kept with a FAILED item: with its quotes escaped it
// still fits into a document.
const MaxKeptBytes = 512 << 10

// Backoff returns how long a run with progress p leaves the remaining items alone: as long as
// an effect waits that has failed Tries times [S4]. So an item's attempts are as far apart as an
// effect's, also where others succeed in between. 0: none failed.
func (l Items) Backoff(p ItemProgress) time.Duration {
	if p.Tries == 0 {
		return 0
	}
	return l.backoff(p.Tries, l.jitter())
}

// progressEvery is how often the progress of an operation's effects, all of them together, is
// written to its record. Firestore sustains about one write per second of one document.
const progressEvery = time.Second

// Record records a chunk of items under the lease of their effect: an item's claim is its
// effect's. One commit, which holds only while the lease does [S6], writes a document for each
// item, the extra writes of those that succeeded, the effect's progress and an extended lease. So a
// crash between two chunks repeats at most one of them. The operation's record is updated in the
// same commit, at most once per second.
//
// at is the progress as the lease or the last Items.Record returned it, with the Total and the
// Length that the caller knows. outcomes are in any order, each key once: of items that have no
// outcome, and Known ones that wait or were Returned. An item is given up where its failure is
// permanent; where MaxAttempts failures counted; and where it failed MaxAttempts times and for
// RetryFor, whatever counted [S4]. A success or a permanent failure starts the effect's own counts again, so that a
// run that is killed again and again, but gets further each time, does not end DEAD.
//
// It returns the new progress. Errors: ErrLeaseLost; else as Ingest, where none of the items may
// have been recorded. ErrInvalid and ErrContention may be due to the extra writes of one item,
// ErrTooBig to all of them together. Calling it again is safe, with the same outcomes or with fewer
// of them from the first on. Recorded then says how many of the same were recorded, which may be
// more than those of the last call.
func (l Items) Record(
	ctx context.Context, lease Lease, at ItemProgress, outcomes []ItemOutcome,
) (ItemProgress, error) {
	paths := []Path{OperationPath(lease.Operation)}
	for _, o := range outcomes {
		if o.Known {
			paths = append(paths, lease.itemPath(o))
		}
	}
	var next ItemProgress
	tries := 0
	err := l.withLease(ctx, lease, "recording items of", func(effect Effect, read Snapshot) error {
		docs, now := read.Documents, read.ReadTime
		if next = effect.progress(); next.Chunks == at.Chunks+1 { // by this call before, whose answer was lost
			return nil
		}
		rec, err := l.readRecord(docs[1])
		if err != nil {
			return err
		}
		c := chunk{ledger: l.protocol, lease: lease, read: read, now: now, record: rec, before: docs[2:], progress: at}
		if err = c.add(outcomes); err != nil {
			return err
		}
		if tries++; tries > 1 { // perhaps because of an extra write
			if c.extra, err = l.versioned(ctx, docs[0], c.extra); err != nil {
				return err
			}
		}
		next = c.progress
		effect.Progress = &next
		if c.advanced {
			effect.Attempts, effect.Interrupted, effect.Failing = 1, 0, nil
		}
		effect.claimableFrom(now.Add(l.settings.ClaimTTL))
		updated := l.writeProgress(docs[1], rec, effect, now, progressEvery)
		writes := slices.Concat([]Write{l.writeEffect(docs[0], effect)}, c.items, updated, unversioned(c.extra))
		return l.commit(ctx, writes...)
	}, paths...)
	if err != nil {
		return ItemProgress{}, err
	}
	return next, nil
}

// UpdateProgress records at.Total and at.Length where they changed, and updates the operation's
// record. at is as for Items.Record. It returns the new progress. Errors: as Finish; calling it
// again is safe.
func (l Items) UpdateProgress(ctx context.Context, lease Lease, at ItemProgress) (ItemProgress, error) {
	err := l.withLease(ctx, lease, "recording the progress of", func(effect Effect, read Snapshot) error {
		docs, now := read.Documents, read.ReadTime
		rec, err := l.readRecord(docs[1])
		if err != nil {
			return err
		}
		known := effect.progress()
		changed := known.Total != at.Total || known.Length != at.Length
		known.Total, known.Length = at.Total, at.Length
		effect.Progress = &known
		writes := l.writeProgress(docs[1], rec, effect, now, 0)
		if !changed && len(writes) == 0 {
			return nil
		}
		return l.commit(ctx, append(writes, l.writeEffect(docs[0], effect))...)
	}, OperationPath(lease.Operation))
	if err != nil {
		return ItemProgress{}, err
	}
	return at, nil
}

// writeProgress returns the write that updates the progress in an operation's record, where it
// changed and the record was last updated at least every ago.
func (l *protocol) writeProgress(
	doc Document, rec operation.Record, effect Effect, now time.Time, every time.Duration,
) []Write {
	progress := effect.Progress.counts()
	if !doc.Exists() || rec.Progress[effect.Name] == progress || now.Sub(rec.ProgressAt) < every {
		return nil
	}
	_, write := l.writeRecord(doc, rec.WithProgress(effect.Name, progress, now), now)
	return []Write{write}
}
