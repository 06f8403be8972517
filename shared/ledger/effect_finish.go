package ledger

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// Finish records that the lease's effect happened. It is DONE for good, and its operation's record
// says so in the same commit. The documents in extra are written in that commit, too: together with
// the outcome, once, or not at all.
//
// The commit holds only while the lease does [S6]. ErrLeaseLost: it does not, and nothing was
// written. ErrExists: an extra write may only create a document that exists already. ErrContention
// may be due to an extra write whose version is outdated. Other errors: as Ingest; calling Finish
// again is safe.
func (l Effects) Finish(ctx context.Context, lease Lease, extra ...Write) error {
	return l.endHeld(ctx, lease, "finishing", EffectDone, nil, extra)
}

// MarkDead records that the effect will never succeed: it is DEAD until an operator replays or
// waives it, and keeps its operation's record from expiring [L3]. cause is the reason. Errors: as
// Finish.
func (l Effects) MarkDead(ctx context.Context, lease Lease, cause error) error {
	return l.endHeld(ctx, lease, "giving up", EffectDead, cause, nil)
}

// endHeld records the last state of an effect whose claim the caller holds, and the failure that led
// to it, if one did.
func (l *protocol) endHeld(
	ctx context.Context, lease Lease, doing string, state EffectState, cause error, extra []Write,
) error {
	tries := 0
	return l.withEffect(ctx, lease.Operation, lease.Effect, doing, func(effect Effect, read Snapshot) error {
		docs, now := read.Documents, read.ReadTime
		switch {
		case effect.State == state && effect.lastHeldBy(lease):
			return nil // by this call before, whose answer was lost
		case !effect.heldBy(lease):
			return ErrLeaseLost
		}
		if cause != nil {
			effect.fail(cause, read)
			effect.closeAttempt(AttemptDead, cause, now)
		} else {
			effect.closeAttempt(AttemptDone, nil, now)
		}
		writes := extra
		if tries++; len(extra) > 0 && (tries > 1 || slices.ContainsFunc(extra, replaces)) {
			var err error
			if writes, err = l.versioned(ctx, docs[0], extra); err != nil {
				return err
			}
		}
		return l.commitEnd(ctx, docs[0], docs[1], effect, state, now, writes)
	}, OperationPath(lease.Operation))
}

// commitEnd commits the last state of an effect, together with its status in the operation's record.
func (l *protocol) commitEnd(
	ctx context.Context, doc, recordDoc Document, effect Effect, state EffectState, now time.Time, extra []Write,
) error {
	effect.State, effect.Unanswered = state, 0
	effect.ClaimableAt, effect.DueAt, effect.DiedAt = time.Time{}, time.Time{}, time.Time{}
	if state == EffectDead {
		effect.DiedAt = now
	}
	if state == EffectDone {
		effect.DoneAt = now
		// It outlives its record, so that no late message runs it again [S7], and the next alert [R4].
		effect.ExpireAt = now.Add(max(2*l.settings.Retention, l.settings.AlertEvery))
	}
	return l.commitStatus(ctx, doc, recordDoc, effect, now, extra)
}

// die ends an effect as DEAD, where its operation's record has not been read yet.
func (l *protocol) die(ctx context.Context, doc Document, effect Effect, now time.Time) error {
	record, err := l.store.Get(ctx, OperationPath(effect.Operation))
	if err != nil {
		return err
	}
	return l.commitEnd(ctx, doc, record.Documents[0], effect, EffectDead, now, nil)
}

// commitStatus writes an effect whose status changes, and that status in its operation's record, if
// there is a record.
func (l *protocol) commitStatus(
	ctx context.Context, doc, recordDoc Document, effect Effect, now time.Time, extra []Write,
) error {
	rec, err := l.readRecord(recordDoc)
	if err != nil {
		return err
	}
	effect.WithoutRecord = effect.Status() == operation.EffectDead && !recordDoc.Exists()
	writes := append([]Write{l.writeEffect(doc, effect)}, extra...)
	if recordDoc.Exists() {
		rec = rec.WithEffect(effect.Name, effect.Status())
		if effect.Progress != nil {
			rec = rec.WithProgress(effect.Name, effect.Progress.counts(), now)
		}
		_, write := l.writeRecord(recordDoc, rec, now)
		writes = append(writes, write)
	}
	return l.commit(ctx, writes...)
}

// maxStoredText bounds a text of outside origin, such as an error message, before it is stored:
// 2,000 bytes.
const maxStoredText = 2000

func shorten(text string) string { return diag.Cut(text, maxStoredText) }

// printable makes a text of outside origin storable: Firestore refuses what is not UTF-8, at every
// retry.
func printable(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
