package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// RequestCancel records that an operator has Gemini asked to cancel a pending operation, for a caller
// that asks Gemini next. The state stays until Gemini says how the operation ended [M7]: it may succeed
// all the same. Because Gemini announces no cancellation, the operation is looked up at every interval
// from then on [R6], unless it is not registered or was abandoned. It returns the request that stands: of
// several the first. Calling it again is safe.
//
// Errors: ErrNotFound; ErrSettled; ErrNoReason; else as Ingest.
func (l Operations) RequestCancel(ctx context.Context, key operation.Key, d Decision) (operation.Decided, error) {
	return l.decideOnRecord(ctx, "recording the request to cancel "+string(key), key, d,
		func(rec *operation.Record, now time.Time) (**operation.Decided, error) {
			if rec.Settled() {
				return nil, fmt.Errorf("%w: it is %s", ErrSettled, rec.State)
			}
			rec.DueAt = operation.Earlier(rec.DueAt, l.next(now, 1))
			return &rec.CancelRequested, nil
		})
}
