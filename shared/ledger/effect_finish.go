package ledger

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// Finish records that the lease's effect happened: it is DONE for good, and its operation's record says so in the same
// commit. Documents in riders are written in that commit, too: together with the outcome, once, or not at all.
//
// The commit holds only while the effect is still the caller's own [S6]. ErrLeaseLost: it is not, and nothing was written.
// ErrExists: a rider may only create a document that is there already. ErrContention may be due to a rider whose version is
// gone. Other errors: as Ingest; calling Finish again is safe.
func (l *Ledger) Finish(ctx context.Context, lease Lease, riders ...Write) error {
	return l.ending(ctx, lease, "finishing", EffectDone, nil, riders)
}

// MarkDead records that the effect will never succeed: it is DEAD until a person looks at it, and keeps its operation's record
// from expiring [L3]. cause says why. Errors: as Finish.
func (l *Ledger) MarkDead(ctx context.Context, lease Lease, cause error) error {
	return l.ending(ctx, lease, "burying", EffectDead, cause, nil)
}

// ending records the effect's last state, and the failure that ended it, if one did.
func (l *Ledger) ending(ctx context.Context, lease Lease, doing string, state EffectState, cause error, riders []Write) error {
	tries := 0
	return l.withEffect(ctx, lease, doing, func(effect Effect, docs []Document, now time.Time) error {
		switch {
		case effect.State == state && effect.lastHeldBy(lease):
			return nil // by us before; the answer was lost
		case !effect.heldBy(lease):
			return ErrLeaseLost
		}
		if cause != nil {
			effect.fail(cause, operation.Instant(now))
		}
		riding := riders
		if tries++; len(riders) > 0 && (tries > 1 || slices.ContainsFunc(riders, replaces)) {
			var err error
			if riding, err = l.versioned(ctx, riders); err != nil {
				return err
			}
		}
		return l.end(ctx, docs[0], docs[1], effect, state, now, riding)
	}, OperationPath(lease.Operation))
}

// end commits the last state of an effect together with what its operation's record says of it.
func (l *Ledger) end(ctx context.Context, doc, recordDoc Document, effect Effect, state EffectState, now time.Time, riders []Write) error {
	effect.State = state
	effect.ClaimableAt, effect.DueAt = time.Time{}, time.Time{}
	if state == EffectDone {
		effect.DoneAt = now
		effect.ExpireAt = now.Add(2 * l.settings.Retention) // outlives its record, so that nothing late runs it again [S7]
	}
	return l.commitEnd(ctx, doc, recordDoc, effect, now, riders)
}

// die ends an effect as DEAD, where its operation's record has not been read yet.
func (l *Ledger) die(ctx context.Context, doc Document, effect Effect, now time.Time) error {
	record, err := l.store.Get(ctx, OperationPath(effect.Operation))
	if err != nil {
		return err
	}
	return l.end(ctx, doc, record.Documents[0], effect, EffectDead, now, nil)
}

// commitEnd writes an effect whose status changes, and what its operation's record says of it, if there is a record.
func (l *Ledger) commitEnd(ctx context.Context, doc, recordDoc Document, effect Effect, now time.Time, riders []Write) error {
	rec, err := readRecord(recordDoc)
	if err != nil {
		return err
	}
	effect.WithoutRecord = effect.Status() == operation.EffectDead && !recordDoc.Exists()
	writes := append([]Write{l.writeEffect(doc, effect)}, riders...)
	if recordDoc.Exists() {
		rec = rec.WithEffect(effect.Name, effect.Status())
		if effect.Progress != nil {
			rec = rec.WithProgress(effect.Name, effect.Progress.counts(), now)
		}
		_, write := l.writeRecord(recordDoc, rec, now)
		writes = append(writes, write)
	}
	return l.store.Commit(ctx, writes...)
}

// maxStoredText bounds a text that a stranger wrote, such as an error message, before it is stored.
const maxStoredText = 2000

func shorten(text string) string { return diag.Cut(text, maxStoredText) }

// printable makes text that a stranger wrote into something that every store takes: Firestore refuses what is not UTF-8, and
// would do so at each retry.
func printable(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
