package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// Failing describes the failed attempts of an effect since it was planned or reopened, or since one
// of its items was done or refused for good.
type Failing struct {
	// Since is when the first of them failed, Last the last.
	Since time.Time `json:"since" firestore:"since"`
	Last  time.Time `json:"last" firestore:"last"`
	Times int       `json:"times" firestore:"times"`
	// AlertedAt is when it was reported that the effect has been failing for an hour; zero where it
	// was not.
	AlertedAt time.Time `json:"alertedAt,omitzero" firestore:"alertedAt,omitempty"`
}

// A Failure is the result of Release.
type Failure struct {
	// Since is when the first of the attempts failed that count against the effect.
	Since time.Time
	// Dead: the effect was given up, because it has failed often enough and for long enough.
	Dead bool
	// LastError is the one in the effect's document. That of a Dead effect includes how often and
	// for how long it failed.
	LastError string
	// Wait is how long until the effect may be claimed again; 0 for a Dead one.
	Wait time.Duration
	// Alert: the effect has been failing for an hour, and no other Failure reports it.
	Alert bool
}

// alertFailingAfter is how long an effect fails before that is reported: long before it may be
// dead.
const alertFailingAfter = time.Hour

// Release gives the effect back after a failure. It may be claimed again after its back-off [S4],
// but not before retryAfter. The back-off is multiplied by four after each failure, from 1 s to 1 h
// with the default lease, and then reduced by up to a half at random. An effect that has failed
// MaxAttempts times, and for RetryFor, is DEAD instead. This is decided here and not at the claim:
// an effect that may be claimed is tried first. Errors: as Finish.
func (l *Ledger) Release(ctx context.Context, lease Lease, cause error, retryAfter time.Duration) (Failure, error) {
	var failure Failure
	jitter := l.jitter()
	err := l.withLease(ctx, lease, "releasing", func(effect Effect, docs []Document, now time.Time) error {
		released := effect.State == EffectPending || effect.State == EffectDead
		switch {
		case released && effect.Failing != nil && effect.lastHeldBy(lease): // by this call before, whose answer was lost
			failure = effect.failure(now)
			return nil
		case !effect.heldBy(lease):
			return ErrLeaseLost
		}
		now = operation.Instant(now)
		effect.fail(cause, now)
		if l.givesUp(*effect.Failing) {
			effect.State = EffectDead
			effect.finished(AttemptDead, cause, now)
			effect.LastError = shorten(fmt.Sprintf("failed attempts: %d within %v; the last error: %s",
				effect.Failing.Times, effect.Failing.Last.Sub(effect.Failing.Since).Round(time.Second), effect.LastError))
			failure = effect.failure(now)
			return l.die(ctx, docs[0], effect, now)
		}
		effect.State, effect.Unanswered = EffectPending, 0
		effect.finished(AttemptFailed, cause, now)
		wait := max(l.backoff(effect.Failing.Times, jitter), retryAfter)
		effect.ClaimableAt = operation.Instant(now.Add(wait))
		effect.DueAt = effect.ClaimableAt
		failure = effect.failure(now)
		return l.commit(ctx, l.writeEffect(docs[0], effect))
	})
	if err != nil {
		return Failure{}, err
	}
	return failure, nil
}

// fail counts one more failed attempt.
func (e *Effect) fail(cause error, now time.Time) {
	failing := Failing{Since: now}
	if e.Failing != nil {
		failing = *e.Failing
	}
	notAfter(now, &failing.Since)
	failing.Times++
	failing.Last = now
	if failing.AlertedAt.IsZero() && now.Sub(failing.Since) >= alertFailingAfter {
		failing.AlertedAt = now
	}
	e.Failing, e.LastError = &failing, causeText(cause)
}

// failure returns the Failure that the effect's document records.
func (e Effect) failure(now time.Time) Failure {
	f := Failure{Since: e.Failing.Since, LastError: e.LastError}
	if f.Dead = e.State == EffectDead; !f.Dead {
		f.Wait = max(e.ClaimableAt.Sub(now), 0)
		f.Alert = e.Failing.AlertedAt.Equal(e.Failing.Last)
	}
	return f
}

// givesUp reports whether an effect with these failures is given up.
func (l *Ledger) givesUp(f Failing) bool {
	return f.Times >= l.settings.MaxAttempts && f.Last.Sub(f.Since) >= l.settings.RetryFor
}

// backoff returns how long an effect waits after its nth failure, for a jitter in [0, 1):
// min(TTL/600 × 4^(n-1), 6 TTL), less up to a half, so that effects which failed together are not
// retried together. With a lease of 600 s: 1 s, 4 s, 16 s, 64 s, 256 s, 1024 s, then 1 h.
func (l *Ledger) backoff(n int, jitter float64) time.Duration {
	wait := min(l.settings.ClaimTTL/600<<(2*min(n-1, 6)), 6*l.settings.ClaimTTL)
	return wait/2 + time.Duration(jitter*float64(wait/2))
}
