package ledger

import (
	"cmp"
	"context"
	"errors"
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

// A Loss says that Gemini does not have the result of an effect's operation, and that it was not read
// since.
type Loss struct {
	// Since is when Gemini first said so.
	Since time.Time `json:"since" firestore:"since"`
	// Failures is Failing.Times at the last attempt that could not read the result. Where it is not the
	// present one, another kind of failure came after it, and the loss does not count.
	Failures int `json:"failures" firestore:"failures"`
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

// alertFailingAfter is how long an effect fails before an alert: long before it may be dead.
const alertFailingAfter = time.Hour

// lostAfter is how long Gemini says that it does not have a result before that is believed. A
// replay asks again, because a result that existed was seen to answer 404 for two days.
const lostAfter = 24 * time.Hour

// Release gives the effect back after a failure. It may be claimed again after its back-off [S4],
// but not before retryAfter. The back-off is multiplied by four after each failure, from 1 s to 1 h
// with the default lease, and then reduced by up to a half at random. An effect that has failed
// MaxAttempts times, and for RetryFor, is DEAD instead. This is decided here and not at the claim:
// an effect that may be claimed is tried first.
//
// A cause with a method ResultLost means that the result could not be read; true means that Gemini
// says that it does not have it. Only then is the effect DEAD once Gemini has said so for a day,
// however often it failed. Errors: as Finish.
func (l Effects) Release(ctx context.Context, lease Lease, cause error, retryAfter time.Duration) (Failure, error) {
	var failure Failure
	jitter := l.jitter()
	err := l.withEffect(ctx, lease.Operation, lease.Effect, "releasing", func(effect Effect, read Snapshot) error {
		docs, now := read.Documents, read.ReadTime
		released := effect.State == EffectPending || effect.State == EffectDead
		switch {
		case released && effect.Failing != nil && effect.lastHeldBy(lease): // by this call before, whose answer was lost
			failure = effect.failure(now)
			return nil
		case !effect.heldBy(lease):
			return ErrLeaseLost
		}
		now = operation.Instant(now)
		effect.fail(cause, read)
		if why := l.givesUp(effect, cause, read); why != "" {
			effect.State = EffectDead
			effect.closeAttempt(AttemptDead, cause, now)
			effect.LastError = shorten(why + "; the last error: " + effect.LastError)
			failure = effect.failure(now)
			return l.die(ctx, docs[0], effect, now)
		}
		effect.State, effect.Unanswered = EffectPending, 0
		effect.closeAttempt(AttemptFailed, cause, now)
		wait := max(l.backoff(effect.Failing.Times, jitter), retryAfter)
		effect.claimableFrom(operation.Instant(now.Add(wait)))
		failure = effect.failure(now)
		return l.commit(ctx, l.writeEffect(docs[0], effect))
	})
	if err != nil {
		return Failure{}, err
	}
	return failure, nil
}

// fail counts one more failed attempt.
func (e *Effect) fail(cause error, read Snapshot) {
	now := operation.Instant(read.ReadTime)
	failing := *cmp.Or(e.Failing, &Failing{Since: now})
	notAfter(now, &failing.Since)
	failing.Times++
	failing.Last = now
	if failing.AlertedAt.IsZero() && read.since(failing.Since) >= alertFailingAfter {
		failing.AlertedAt = now
	}
	loss := e.loss()
	about, lost := saysLost(cause)
	if lost && loss == nil {
		loss = &Loss{Since: now}
	}
	e.Lost = nil
	if about && loss != nil {
		e.Lost = &Loss{Since: loss.Since, Failures: failing.Times}
		notAfter(now, &e.Lost.Since)
	}
	e.Failing, e.LastError = &failing, causeText(cause)
}

// loss returns Lost where it counts.
func (e Effect) loss() *Loss {
	if f := e.Failing; f == nil || e.Lost == nil || e.Lost.Failures != f.Times || e.Lost.Since.Before(f.Since) {
		return nil
	}
	return e.Lost
}

// saysLost reports whether a failure is about a result that could not be read, and whether Gemini said
// that it does not have it. The cause, or one that it wraps, knows it by a method ResultLost.
func saysLost(cause error) (about, lost bool) {
	var result interface{ ResultLost() bool }
	about = errors.As(cause, &result)
	return about, about && result.ResultLost()
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

// givesUp returns why an effect is given up whose last failure has this cause; empty: it is not.
func (l *protocol) givesUp(e Effect, cause error, read Snapshot) string {
	f := *e.Failing
	failing := read.since(f.Since)
	if _, lost := saysLost(cause); lost {
		if since := read.since(e.Lost.Since); since >= lostAfter {
			return fmt.Sprintf("results lost: Gemini has said so for %v", since.Round(time.Second))
		}
		return ""
	}
	if f.Times < l.settings.MaxAttempts || failing < l.settings.RetryFor {
		return ""
	}
	return fmt.Sprintf("failed attempts: %d within %v", f.Times, failing.Round(time.Second))
}

// backoff returns how long an effect waits after its nth failure, for a jitter in [0, 1):
// min(TTL/600 × 4^(n-1), 6 TTL), less up to a half, so that effects which failed together are not
// retried together. With a lease of 600 s: 1 s, 4 s, 16 s, 64 s, 256 s, 1024 s, then 1 h.
func (l *protocol) backoff(n int, jitter float64) time.Duration {
	wait := min(l.settings.ClaimTTL/600<<(2*min(n-1, 6)), 6*l.settings.ClaimTTL)
	return wait/2 + time.Duration(jitter*float64(wait/2))
}
