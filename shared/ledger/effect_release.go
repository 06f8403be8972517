package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// Failing tells of the failed attempts that an effect has had since it was planned or reopened, or since an item of it came
// to its end.
type Failing struct {
	// Since is when the first of them failed, Last the last.
	Since time.Time `json:"since" firestore:"since"`
	Last  time.Time `json:"last" firestore:"last"`
	Times int       `json:"times" firestore:"times"`
	// AlertedAt is when it was alerted that the effect has been failing for long; zero where it was not.
	AlertedAt time.Time `json:"alertedAt,omitzero" firestore:"alertedAt,omitempty"`
}

// A Failure says what Release made of a failed attempt.
type Failure struct {
	// Since is when the first attempt failed of those that count against the effect now.
	Since time.Time
	// Dead: the effect was given up, for it has failed often enough and for long enough.
	Dead bool
	// LastError is what the effect's document says; of a Dead one also how often and for how long it failed.
	LastError string
	// Wait is how long until the effect may be claimed again; 0 of a Dead one.
	Wait time.Duration
	// Alert: the effect has been failing for an hour, and no other failure says so.
	Alert bool
}

// alertFailingAfter is how long an effect fails before that is worth an alert: long before it may be dead.
const alertFailingAfter = time.Hour

// Release gives the effect back after a failure, so that it is tried again after a back-off [S4]: not before retryAfter, nor
// before a time that is four times as long after each failure. An effect that has failed MaxAttempts times, and for RetryFor,
// is DEAD instead. That is decided here and not at a claim: whatever may be claimed is tried first. Errors: as Finish.
func (l *Ledger) Release(ctx context.Context, lease Lease, cause error, retryAfter time.Duration) (Failure, error) {
	var failure Failure
	chance := l.jitter()
	err := l.withEffect(ctx, lease, "releasing", func(effect Effect, docs []Document, now time.Time) error {
		released := effect.State == EffectPending || effect.State == EffectDead
		switch {
		case released && effect.Failing != nil && effect.lastHeldBy(lease): // by us before; the answer was lost
			failure = effect.failure(now)
			return nil
		case !effect.heldBy(lease):
			return ErrLeaseLost
		}
		now = operation.Instant(now)
		effect.fail(cause, now)
		if l.givesUp(*effect.Failing) {
			effect.State = EffectDead
			effect.LastError = shorten(fmt.Sprintf("failed attempts: %d within %v; the last error: %s",
				effect.Failing.Times, effect.Failing.Last.Sub(effect.Failing.Since).Round(time.Second), effect.LastError))
			failure = effect.failure(now)
			return l.die(ctx, docs[0], effect, now)
		}
		effect.State = EffectPending
		wait := max(l.backoff(effect.Failing.Times, chance), retryAfter)
		effect.ClaimableAt = operation.Instant(now.Add(wait))
		effect.DueAt = effect.ClaimableAt
		failure = effect.failure(now)
		return l.store.Commit(ctx, l.writeEffect(docs[0], effect))
	})
	if err != nil {
		return Failure{}, err
	}
	return failure, nil
}

// fail notes one more failed attempt.
func (e *Effect) fail(cause error, now time.Time) {
	failing := Failing{Since: now}
	if e.Failing != nil {
		failing = *e.Failing
	}
	failing.Times++
	failing.Last = now
	if failing.AlertedAt.IsZero() && now.Sub(failing.Since) >= alertFailingAfter {
		failing.AlertedAt = now
	}
	e.Failing, e.LastError = &failing, shorten(cause.Error())
}

// failure tells of the last failed attempt, from what is recorded of it.
func (e Effect) failure(now time.Time) Failure {
	f := Failure{Since: e.Failing.Since, LastError: e.LastError}
	if f.Dead = e.State == EffectDead; !f.Dead {
		f.Wait = max(e.ClaimableAt.Sub(now), 0)
		f.Alert = e.Failing.AlertedAt.Equal(e.Failing.Last)
	}
	return f
}

// givesUp reports whether an effect that fails so is to be tried no more.
func (l *Ledger) givesUp(f Failing) bool {
	return f.Times >= l.settings.MaxAttempts && f.Last.Sub(f.Since) >= l.settings.RetryFor
}

// backoff returns how long an effect waits after its nth failure, where chance is in [0, 1): min(TTL/600 × 4^(n-1), 6 TTL),
// less up to a half by chance, so that what failed together does not come back together. With a TTL of 600 s that is up to
// 1 s, 4 s, 16 s, 64 s, 256 s, 1024 s, and from then on an hour.
func (l *Ledger) backoff(n int, chance float64) time.Duration {
	wait := min(l.settings.ClaimTTL/600<<(2*min(n-1, 6)), 6*l.settings.ClaimTTL)
	return wait/2 + time.Duration(chance*float64(wait/2))
}
