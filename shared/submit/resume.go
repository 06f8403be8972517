package submit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// The pages of Gemini's list in which an earlier run's batch is looked for. Their order is not
// documented, so that only a list that was read to its end says that a batch is not there.
const (
	resumePages    = 50
	resumePageSize = 100
)

// An earlier is a batch that an earlier run has submitted; without a name: it has surely submitted
// none.
type earlier struct {
	name       string
	createTime time.Time
}

// resume finds what an earlier run with the same correlation id has submitted. ErrUncertain: it
// cannot be known.
func (s *Submitter) resume(ctx context.Context, collection operation.Collection, intent ledger.Intent) (earlier, error) {
	if collection != operation.Batches {
		return earlier{}, fmt.Errorf("%w: %s cannot be listed", ErrUncertain, collection)
	}
	// First the age, then the list: what is created in between is in it.
	now, err := s.options.Ledger.Now(ctx)
	if err != nil {
		return earlier{}, err
	}
	token := ""
	for range resumePages {
		page, err := s.options.Lookup.ListBatches(ctx, resumePageSize, token)
		if err != nil {
			return earlier{}, fmt.Errorf("looking for what an earlier run has submitted: %w", err)
		}
		for _, batch := range page.Batches {
			if batch.CorrelationID == intent.CorrelationID && batch.Name.Key != "" {
				return earlier{name: batch.Name.Resource, createTime: batch.CreateTime}, nil
			}
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	switch {
	case token != "":
		return earlier{}, fmt.Errorf("%w: it is not among the first %d batches of Gemini's list", ErrUncertain, resumePages*resumePageSize)
	case now.Sub(intent.AttemptedAt()) < settledAfter:
		return earlier{}, fmt.Errorf("%w: a run with its intent began less than %v ago; try again after that", ErrUncertain, settledAfter)
	default:
		return earlier{}, nil
	}
}

// renew says that this run is about to submit. Of several runs which found that an earlier one has
// submitted nothing only one goes on: ErrUncertain for every other.
func (s *Submitter) renew(ctx context.Context, intent ledger.Intent) error {
	_, err := s.options.Ledger.Renew(ctx, intent)
	if errors.Is(err, ledger.ErrConflict) {
		return fmt.Errorf("%w: another run is at it: %w", ErrUncertain, err)
	}
	return err
}
