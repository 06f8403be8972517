package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// What an operator may not decide about one document, because a job would never end, or would send requests
// twice.
var (
	// ErrStep: the effect is a step of a job, which has neither reruns nor an end without it.
	ErrStep = errors.New("it is a step of a job: replay it while it is dead; a part that is starting, or has a batch, " +
		"may be released")
	// ErrPart: the batch, the intent or the effects belong to a part that a job still needs.
	ErrPart = errors.New("it belongs to a part of a job that has not ended: release the part, or cancel the job")
	// ErrJobPending: the job has not ended.
	ErrJobPending = errors.New("the job has not ended: cancel it, and it ends once its batches have")
)

// needed reports whether a job that has not ended still needs what has this key: the job's own, or that of
// one of its parts. Once it does not it never does again. Of any other text it is false.
func (l *protocol) needed(ctx context.Context, key string) (bool, error) {
	of, _, isPart := operation.ParsePart(key)
	if !isPart {
		of = operation.Key(key)
	}
	if of.Collection() != operation.Jobs {
		return false, nil
	}
	snapshot, err := l.store.Get(ctx, JobPath(of), partPath(operation.Key(key)))
	if err != nil {
		return false, fmt.Errorf("reading the job of %s: %w", key, err)
	}
	j, err := readJob(snapshot.Documents[0])
	switch doc := snapshot.Documents[1]; {
	case err != nil, j.Key == "", j.Phase == job.Ended:
		return false, err
	case !isPart:
		return true, nil
	case !doc.Exists():
		return false, nil
	default:
		p, err := readPart(doc)
		return p.State.Open(), err
	}
}

// partOf returns the key of the part whose batch an operation is; empty where it is none.
func partOf(rec operation.Record) string {
	if !rec.IsPart() {
		return ""
	}
	return rec.CorrelationID
}

// unneeded returns refusal where a job still needs what has this key.
func (l *protocol) unneeded(ctx context.Context, key string, refusal error) error {
	needed, err := l.needed(ctx, key)
	if err == nil && needed {
		err = fmt.Errorf("%w (%s)", refusal, key)
	}
	return err
}
