package effect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// Decline stands in for Run if the effect may not run in this process now; as is Paused or Busy. It
// claims nothing and counts no attempt. The effect stays due, and the sweep enqueues it again
// within an interval [R5]. What an operator's message asks for is recorded in the ledger at once
// [G5]: the effect is due from then on, however long the queue would have kept the message. Errors:
// as Run.
func (r *Runner) Decline(ctx context.Context, m ledger.Message, as Outcome) (Report, error) {
	return r.handle(ctx, m, func(ctx context.Context, m ledger.Message, _ Handler, report Report) (Report, error) {
		verdict, err := r.ledger.Effects.Decline(ctx, m.Operation, report.Replay.Effect)
		if err != nil {
			return report, err
		}
		if report.Outcome = as; over(verdict) {
			report.Outcome, report.Verdict = Skipped, verdict
		}
		return report, nil
	})
}

// recordRequest records what an operator's message asks for. Any other message only names the effect.
// What cannot be replayed is Skipped.
func (r *Runner) recordRequest(ctx context.Context, m ledger.Message) (Report, error) {
	if !m.FromOperator() {
		return Report{Replay: ledger.Replayed{Effect: m.Effect}}, nil
	}
	replayed, err := r.ledger.Effects.Replay(ctx, m)
	if errors.Is(err, ledger.ErrReplay) {
		return Report{Outcome: Skipped, Verdict: ledger.Absent, Cause: err}, nil
	}
	return Report{Replay: replayed}, err
}

// over reports whether a claim with this verdict has nothing left to do.
func over(v ledger.Verdict) bool { return v == ledger.Absent || v == ledger.Done || v == ledger.Dead }

// unknown handles an effect that this revision has no handler for: most likely another revision is
// being deployed. Nothing is claimed and no attempt is counted.
func (r *Runner) unknown(ctx context.Context, m ledger.Message) (Report, error) {
	verdict, err := r.ledger.Effects.Decline(ctx, m.Operation, m.Effect)
	if err != nil {
		return Report{}, err
	}
	cause := fmt.Errorf("no effect is named %q in the settings", m.Effect)
	// A revision that knows the effect can replay it.
	replays := m.FromOperator() && (verdict == ledger.Dead || verdict == ledger.Done && m.Rerun != "")
	if !replays && over(verdict) {
		if verdict == ledger.Absent && m.FromOperator() {
			return Report{Outcome: Skipped, Verdict: verdict, Cause: cause}, nil
		}
		return Report{Outcome: Skipped, Verdict: verdict}, nil
	}
	report := Report{Outcome: Unknown, Verdict: verdict, Cause: cause}
	if m.FromOperator() {
		report.RetryAfter = unknownRetry
	}
	return report, nil
}

// unknownRetry is how long an operator's message about an effect that this revision does not know
// waits for one that does.
const unknownRetry = time.Minute
