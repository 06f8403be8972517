package steps

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// cancel asks Gemini to cancel the batch of a part, because its job is cancelled or the batch is released.
// Success wins a race: what the batch did is collected, unless it is released.
func (o Options) cancel(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
	p, j, err := o.Ledger.Jobs.Part(ctx, task.Operation)
	if err != nil {
		return nil, err
	}
	return nil, o.cancelBatch(ctx, p.Part, j.Job)
}

// cancelBatch records who has the batch of a part cancelled, and asks Gemini.
func (o Options) cancelBatch(ctx context.Context, p job.Part, j job.Job) error {
	if err := o.asks(); err != nil {
		return err
	}
	by := ledger.Decision{By: "opledger", Why: "a step of " + string(j.Key)}
	switch {
	case j.DeadlineReached.IsZero() && !p.CancelAt.IsZero():
		by.Why = fmt.Sprintf("this batch of %s may run for %v", j.Key, p.CancelAt.Sub(p.StartedAt))
	case !j.DeadlineReached.IsZero():
		by.Why = "the deadline of " + string(j.Key) + " was reached"
	}
	for _, decided := range []*operation.Decided{j.Cancelled, p.Released} {
		if decided != nil {
			by = ledger.Decision{By: decided.By, Why: decided.Why}
		}
	}
	_, err := o.Ledger.Operations.RequestCancel(ctx, p.Batch, by)
	if errors.Is(err, ledger.ErrSettled) {
		return nil
	}
	if err != nil {
		return err
	}
	rec, err := o.Ledger.Operations.Read(ctx, p.Batch)
	if err != nil {
		return err
	}
	err = o.Canceller.Cancel(ctx, operation.Name{Key: rec.Key, Resource: rec.Name})
	if answer, ok := errors.AsType[*api.Error](err); ok && answer.Status == http.StatusNotFound && p.Released != nil {
		return o.unknown(ctx, p, rec, by, err)
	}
	if err != nil {
		return fmt.Errorf("asking Gemini to cancel %s: %w", p.Batch, err)
	}
	return nil
}

// missingFor is for how long look-ups, too, must not have found a released batch before it is not waited for.
const missingFor = time.Hour

// unknown ends the waiting for a released batch that Gemini does not know any more: for that, too, one is released. A
// single 404 proves nothing, so until then Gemini is asked again.
func (o Options) unknown(
	ctx context.Context, p job.Part, rec operation.Record, by ledger.Decision, cause error,
) error {
	missing := !rec.MissingSince.IsZero() && o.Now().Sub(rec.MissingSince) >= o.paced(missingFor)
	if !missing && rec.Abandoned == nil {
		return effect.Postpone(cause, o.paced(whileDenied))
	}
	o.deleteInputs(ctx, p)
	_, err := o.Ledger.Operations.Abandon(ctx, p.Batch, by)
	if errors.Is(err, ledger.ErrSettled) {
		return nil
	}
	return err
}
