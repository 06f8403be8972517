package submit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Bounds on the search for an earlier run's batch in Gemini's list. The order of the list is not
// documented, so only a list that was read to its end proves that a batch is not there.
const (
	resumePages    = 50
	resumePageSize = 100
)

// An earlier is the batch that an earlier run has submitted. An empty name: it certainly submitted
// none.
type earlier struct {
	name       string
	createTime time.Time
}

// resume finds what an earlier run with the same correlation id has submitted. The error wraps
// ErrUncertain where that cannot be known.
func (s *Submitter) resume(
	ctx context.Context, collection operation.Collection, intent ledger.Intent,
) (earlier, error) {
	if collection != operation.Batches {
		return earlier{}, fmt.Errorf("%w: %s cannot be listed", ErrUncertain, collection)
	}
	// First the time, then the list, so that the list has whatever was created before that time.
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
		return earlier{}, fmt.Errorf(
			"%w: it is not among the first %d batches of Gemini's list", ErrUncertain, resumePages*resumePageSize,
		)
	case now.Sub(intent.AttemptedAt()) < settledAfter:
		return earlier{}, fmt.Errorf(
			"%w: another run recorded its intent less than %v ago; try again after that", ErrUncertain, settledAfter,
		)
	default:
		return earlier{}, nil
	}
}

// renew records that this run is about to submit. Only one of several concurrent runs succeeds; the
// others get ErrUncertain.
func (s *Submitter) renew(ctx context.Context, intent ledger.Intent) error {
	_, err := s.options.Ledger.Renew(ctx, intent)
	if errors.Is(err, ledger.ErrConflict) {
		return fmt.Errorf("%w: another run is submitting it: %w", ErrUncertain, err)
	}
	return err
}
