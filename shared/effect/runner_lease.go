package effect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/googleapis/gax-go/v2"

	"github.com/opledger/opledger/shared/ledger"
)

// ErrLeaseEnds is the cause of a context that ends because its lease could not be extended.
var ErrLeaseEnds = errors.New("the lease ends and could not be extended")

// keep extends the lease until ctx ends, each time when a third of it is left. An extension that
// fails is retried while there is time. keep calls end, which cancels ctx, when the lease is lost, or
// when a tenth of it is left and it could not be extended [S6]. granted is taken before the claim, on
// this machine's monotonic clock, so the real lease ends later than keep assumes.
func (r *Runner) keep(ctx context.Context, end context.CancelCauseFunc, lease ledger.Lease, granted time.Time) {
	ttl := r.ledger.Settings().ClaimTTL
	next := granted.Add(ttl - ttl/3)
	for {
		cutoff := granted.Add(r.heldFor())
		if !Wait(ctx, time.Until(next)) {
			return
		}
		asked := time.Now()
		extending, cancel := context.WithDeadline(ctx, cutoff)
		err := r.ledger.Effects.Extend(extending, lease)
		cancel()
		switch {
		case err == nil:
			granted, next = asked, asked.Add(ttl-ttl/3)
		case errors.Is(err, ledger.ErrLeaseLost):
			end(err)
			return
		default:
			if next = time.Now().Add(ttl / 30); next.Before(cutoff) {
				continue
			}
			if Wait(ctx, time.Until(cutoff)) {
				end(fmt.Errorf("%w: %w", ErrLeaseEnds, err))
			}
			return
		}
	}
}

// heldFor is how long the lease is surely held, from the request for its claim or extension.
func (r *Runner) heldFor() time.Duration {
	ttl := r.ledger.Settings().ClaimTTL
	return ttl - ttl/10
}

// Wait reports whether d passed before ctx ended.
func Wait(ctx context.Context, d time.Duration) bool { return gax.Sleep(ctx, d) == nil }
