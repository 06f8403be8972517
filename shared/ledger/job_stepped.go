package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// stepped takes over into the record of a job when that last took a step, for its look-up's write. One that
// was stuck and has taken a step since is no longer stuck, and alerts again if it is once more [R4]. One that is
// held waits for an operator, and is as if it had just taken a step [J11]. A plan that is gone or cannot be read takes
// no steps.
func (l *protocol) stepped(ctx context.Context, rec *operation.Record) error {
	if rec.Collection != operation.Jobs {
		return nil
	}
	j, read, err := l.job(ctx, rec.Key)
	if _, unread := errors.AsType[Broken](err); unread || errors.Is(err, ErrNoJob) {
		return nil
	}
	if err != nil {
		return err
	}
	rec.SteppedAt = j.SteppedAt
	if j.Held() {
		rec.SteppedAt = operation.Instant(read.ReadTime)
	}
	if rec.StuckSince.Before(rec.SteppedAt) {
		rec.StuckSince, rec.AlertedAt = time.Time{}, time.Time{}
	}
	return nil
}
