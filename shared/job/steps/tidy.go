package steps

import (
	"context"
	"fmt"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
)

// tidy deletes the objects of the parts of a job that has ended, and those of no commit among them. What stays
// is the user's: the input, job.json, and the merged objects.
func (o Options) tidy(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
	_, j, err := o.part(ctx, task.Operation)
	if err != nil {
		return nil, err
	}
	if j.Phase != job.Ended {
		return nil, effect.Permanent(fmt.Errorf("%s has not ended: its objects are needed", j.Key))
	}
	for name, err := range o.Storage.Names(ctx, files.Working(j.Job)) {
		if err == nil {
			err = o.Storage.Delete(ctx, name)
		}
		if err != nil {
			return nil, fmt.Errorf("deleting what %s no longer needs: %w", j.Key, err)
		}
	}
	return nil, nil
}
