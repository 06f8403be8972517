package ledger

import (
	"context"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/excerpt"
	"github.com/opledger/opledger/shared/operation"
)

// Finish records that the lease's effect happened: it is DONE for good, and its operation's record says so in the same
// commit. Documents in riders are written in that commit, too: together with the outcome, once, or not at all.
//
// The commit holds only while the effect is still the caller's own [S6]. ErrLeaseLost: it is not, and nothing was written.
// Other errors: as Ingest; calling Finish again is safe.
func (l *Ledger) Finish(ctx context.Context, lease Lease, riders ...Write) error {
	return l.ending(ctx, lease, "finishing", EffectDone, "", riders)
}

// Bury records that the effect will never succeed: it is DEAD until a person looks at it, and keeps its operation's record
// from expiring [L3]. cause says why. Errors: as Finish.
func (l *Ledger) Bury(ctx context.Context, lease Lease, cause error) error {
	return l.ending(ctx, lease, "burying", EffectDead, cause.Error(), nil)
}

// Release gives the effect back after a failure, so that it is tried again at once after a back-off [S4]: not before
// retryAfter, nor before a time that doubles with each attempt. It returns how long that is. Errors: as Finish.
func (l *Ledger) Release(ctx context.Context, lease Lease, cause error, retryAfter time.Duration) (time.Duration, error) {
	wait := max(l.backoff(lease.Attempt), retryAfter)
	err := l.withEffect(ctx, lease, "releasing", func(effect Effect, docs []Document, now time.Time) error {
		switch {
		case effect.State == EffectPending && effect.lastHeldBy(lease):
			return nil // by us before; the answer was lost
		case !effect.heldBy(lease):
			return ErrLeaseLost
		}
		effect.State = EffectPending
		effect.LastError = shorten(cause.Error())
		effect.ClaimableAt = operation.Instant(now.Add(wait))
		effect.DueAt = effect.ClaimableAt
		return l.store.Commit(ctx, l.writeEffect(docs[0], effect))
	})
	return wait, err
}

// ending records the effect's last state.
func (l *Ledger) ending(ctx context.Context, lease Lease, doing string, state EffectState, lastError string, riders []Write) error {
	return l.withEffect(ctx, lease, doing, func(effect Effect, docs []Document, now time.Time) error {
		switch {
		case effect.State == state && effect.lastHeldBy(lease):
			return nil // by us before; the answer was lost
		case !effect.heldBy(lease):
			return ErrLeaseLost
		}
		if lastError != "" {
			effect.LastError = shorten(lastError)
		}
		return l.end(ctx, docs[0], docs[1], effect, state, now, riders)
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

// commitEnd writes an effect whose status changes, and what its operation's record says of it, if there is a record.
func (l *Ledger) commitEnd(ctx context.Context, doc, recordDoc Document, effect Effect, now time.Time, riders []Write) error {
	rec, err := readRecord(recordDoc)
	if err != nil {
		return err
	}
	if riders, err = l.versioned(ctx, riders); err != nil {
		return err
	}
	writes := append([]Write{l.writeEffect(doc, effect)}, riders...)
	if recordDoc.Exists() {
		_, write := l.writeRecord(recordDoc, rec.WithEffect(effect.Name, effect.Status()), now)
		writes = append(writes, write)
	}
	return l.store.Commit(ctx, writes...)
}

// backoff returns how long an effect waits after its nth failed attempt: a six-hundredth of the lease, four times as long
// with each attempt, at most six leases, less up to a half at random so that what failed together does not come back
// together. With the defaults that is from a second to an hour, and ten attempts last for some hours: an outage of a night
// must not kill the night's effects.
func (l *Ledger) backoff(attempt int) time.Duration {
	wait := min(l.settings.ClaimTTL/600<<(2*min(max(attempt-1, 0), 6)), 6*l.settings.ClaimTTL)
	return wait/2 + time.Duration(l.jitter()*float64(wait/2))
}

// maxStoredText bounds a text that a stranger wrote, such as an error message, before it is stored.
const maxStoredText = 2000

func shorten(text string) string { return excerpt.Cut(text, maxStoredText) }

// printable makes text that a stranger wrote into something that every store takes: Firestore refuses what is not UTF-8, and
// would do so at each retry.
func printable(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
