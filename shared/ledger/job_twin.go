package ledger

import (
	"context"
	"errors"

	"github.com/opledger/opledger/shared/operation"
)

// TwinMessage is the log message of an alert about a twin [J2].
const TwinMessage = "a part of a job has a second batch, which runs beside its own and is never collected"

// twin returns the write that counts a second batch of a part [J2], or nothing. The event's correlation id is that of
// a part which is bound to another batch, and no earlier event about this batch had an id: so it is counted once. Its
// record stays unregistered, so that no step collects it.
func (c *ingestion) twin(ctx context.Context, e operation.Event, at reading) ([]Write, error) {
	of, _, isPart := operation.ParsePart(e.CorrelationID)
	bound := at.correlation.intent
	if !isPart || at.rec.CorrelationID != "" || bound.State != IntentBound || bound.Operation == e.Key {
		return nil, nil
	}
	j, _, err := c.ledger.job(ctx, of)
	if errors.Is(err, ErrNoJob) || errors.Is(err, ErrNewer) { // the rest of the commit is made all the same
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j.Twins++
	return []Write{j.Write()}, nil
}
