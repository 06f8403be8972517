package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// The errors of operators' decisions: Abandon, RequestCancel, Effects.Waive.
var (
	// ErrSettled: the operation has ended, so it is not waited for, and cannot be cancelled.
	ErrSettled = errors.New("the operation has ended already")
	// ErrUnregistered: the operation is not registered, so it is not waited for.
	ErrUnregistered = errors.New("the operation is not registered, so it is not waited for")
	// ErrNotDead: the effect is done, or is still retried.
	ErrNotDead = errors.New("the effect is not dead")
	// ErrNoReason: an operator who decides must give a reason.
	ErrNoReason = errors.New("a reason is needed")
)

// A Decision is what an operator says of a decision.
type Decision struct {
	By  string `json:"by"`  // who decided
	Why string `json:"why"` // must not be empty
}

func (a Decision) at(now time.Time) *operation.Decided {
	return &operation.Decided{At: operation.Instant(now), By: shorten(a.By), Why: shorten(a.Why)}
}

// Abandon ends the waiting for a pending operation, on an operator's decision [R4]. The operation
// is no longer looked up, no longer alerts, and is not deleted [L3]. Its state stays, because only
// Gemini knows it [M7]; a completion that arrives later still counts and runs its effects. It
// returns the abandonment that stands: of several the first. Calling it again is safe.
//
// Errors: ErrNotFound; ErrSettled; ErrUnregistered; ErrNoReason; ErrJobPending, of a job; ErrPart, of a batch
// that a job needs; else as Ingest.
func (l Operations) Abandon(ctx context.Context, key operation.Key, a Decision) (operation.Decided, error) {
	return l.decideOnRecord(ctx, "abandoning "+string(key), key, a,
		func(rec *operation.Record, _ time.Time) (**operation.Decided, error) {
			switch {
			case rec.Abandoned != nil:
			case rec.Settled():
				return nil, fmt.Errorf("%w: it is %s", ErrSettled, rec.State)
			case !rec.Registered:
				return nil, ErrUnregistered
			case rec.Collection == operation.Jobs:
				return nil, ErrJobPending
			default:
				if err := l.unneeded(ctx, partOf(*rec), ErrPart); err != nil {
					return nil, err
				}
			}
			return &rec.Abandoned, nil
		})
}

// decideOnRecord records an operator's decision about an operation in the field that place returns,
// unless place refuses it. It returns the decision that stands there: of several the first.
func (l *protocol) decideOnRecord(
	ctx context.Context, what string, key operation.Key, a Decision,
	place func(*operation.Record, time.Time) (**operation.Decided, error),
) (operation.Decided, error) {
	var stands operation.Decided
	err := l.retry(ctx, what, func(int) error {
		rec, doc, read, err := l.record(ctx, key)
		switch {
		case err != nil:
			return err
		case a.Why == "":
			return ErrNoReason
		case !doc.Exists():
			return ErrNotFound
		}
		decision, err := place(&rec, read.ReadTime)
		if err != nil {
			return err
		}
		if *decision != nil { // before, perhaps by this call, whose answer was lost
			stands = **decision
			return nil
		}
		*decision = a.at(read.ReadTime)
		stands = **decision
		_, write := l.writeRecord(doc, rec, read.ReadTime)
		return l.commit(ctx, write)
	})
	return stands, err
}
