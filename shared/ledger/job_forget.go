package ledger

import (
	"context"
	"errors"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// refused returns why the operation may not be forgotten: it is a job that has not ended, or a job needs it.
func (f *forgetting) refused(ctx context.Context, record Document, rec operation.Record) error {
	if f.key.Collection() != operation.Jobs {
		part := partOf(rec)
		if _, _, isPart := operation.ParsePart(string(f.key)); isPart {
			part = string(f.key)
		}
		return f.ledger.unneeded(ctx, part, ErrPart)
	}
	j, _, err := f.ledger.job(ctx, f.key)
	switch {
	case errors.Is(err, ErrNoJob):
		return nil
	case err == nil && (j.Phase != job.Ended || record.Exists() && !rec.Settled()):
		return ErrJobPending
	default:
		return err
	}
}

// job deletes the parts of a job, then its plan. The record is deleted behind them: as long as it is there,
// no job of the same id is submitted, whose parts would have the same keys.
func (f *forgetting) job(ctx context.Context, record Document) error {
	if f.key.Collection() != operation.Jobs {
		return nil
	}
	// Its last step has the key of the first part, which a job that was cancelled at once does not have.
	if err := f.children(ctx, record, operation.PartKey(f.key, 1)); err != nil {
		return err
	}
	if err := f.pages(ctx, record, queryParts(f.key, FieldCreatedAt, Cursor{}, forgetPage)); err != nil {
		return err
	}
	snapshot, err := f.ledger.store.Get(ctx, JobPath(f.key), runningPath)
	if err != nil {
		return err
	}
	plan, doc := snapshot.Documents[0], snapshot.Documents[1]
	if !plan.Exists() {
		return nil
	}
	running, err := decode(doc, func(RunningBatches) Path { return runningPath })
	if err != nil {
		return err
	}
	freed := running.without(f.key, nil, false).changed(running, doc)
	f.seen[plan.Path] = true
	return f.ledger.commit(ctx, append(freed, Write{Path: plan.Path, Token: plan.Token})...)
}

// parts deletes what belongs to parts of the job: the effects of their steps, their batches and intents.
func (f *forgetting) parts(ctx context.Context, record Document, found []Document) error {
	for _, doc := range found {
		p, err := readPart(doc)
		if err != nil {
			return err
		}
		if err := f.children(ctx, record, p.Key); err != nil {
			return err
		}
		if p.Batch != "" {
			batch := forgetting{ledger: f.ledger, key: p.Batch, seen: f.seen}
			if err := batch.all(ctx); err != nil {
				return err
			}
		}
		_, intent, _, err := f.ledger.intent(ctx, string(p.Key))
		if err == nil && intent.Exists() {
			err = f.delete(ctx, []Document{intent})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
