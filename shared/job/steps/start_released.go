package steps

import (
	"context"
	"errors"
	"fmt"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

// released has Gemini cancel a batch that came of a creation after its part was released [J6].
func (s *starting) released(ctx context.Context) ([]ledger.Write, error) {
	if s.part.Batch != "" {
		return nil, nil // its cancellation is planned
	}
	intent, err := s.Ledger.Intents.Read(ctx, string(s.part.Key))
	switch {
	case errors.Is(err, ledger.ErrNoIntent):
		return nil, nil
	case err != nil:
		return nil, err
	case intent.State == ledger.IntentBound:
		s.part.Batch = intent.Operation
		if err := s.cancelBatch(ctx, s.part.Part, s.job); err != nil {
			return nil, err
		}
		return []ledger.Write{s.part.Write()}, nil
	}
	attempt := s.task.Owner
	announced, err := s.Ledger.Jobs.Announce(ctx, s.part.Part, s.job, attempt)
	switch {
	case err != nil:
		return nil, err
	case announced.Verdict == ledger.MaySubmit: // nothing came of it
		_, err := s.Ledger.Jobs.Withdraw(ctx, s.part.Part, attempt)
		return nil, err
	default:
		return nil, effect.Postpone(fmt.Errorf("a batch of %s may have been created", s.part.Key),
			max(announced.WaitFor, s.paced(whileFailing)))
	}
}
