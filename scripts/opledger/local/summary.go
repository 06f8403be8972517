package local

import (
	"fmt"
	"io"
)

// Print writes the summary for a person.
func (s Summary) Print(w io.Writer) error {
	if s.Wrong > 0 {
		if _, err := fmt.Fprintf(w, "%d operations are settled otherwise than at Gemini\n", s.Wrong); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, `%d operations in %.1f s, seed %d: %d settled by webhook, %d recovered by reconciliation
deliveries: %d lost, %d repeated, %d late, %d out of order, %d retried, %d into deploy windows; %d faults of the API
effects: %d messages lost, %d repeated; %d refused and tried again, %d answers lost, %d repeats that the receiver recognised
%slost %d · doubled %d · regressed %d
`,
		s.Operations, s.Seconds, s.Seed, s.SettledByWebhook, s.SettledByReconcile,
		s.DeliveriesLost, s.DeliveriesRepeated, s.DeliveriesLate, s.DeliveriesReordered, s.DeliveriesRetried,
		s.DeployWindowHits, s.APIFaults, s.MessagesLost, s.MessagesRepeated, s.EffectsRefused, s.EffectAnswersLost, s.EffectRepeatsKnown,
		s.unfinishedWords(), s.Lost, s.Doubled, s.Regressed)
	return err
}

// unfinishedWords is a line about what the run did not come to the end of, or nothing.
func (s Summary) unfinishedWords() string {
	switch {
	case s.Unfinished == 0:
		return ""
	case s.ending == timeOver:
		return fmt.Sprintf("unfinished %d: the time was over, and they were still on their way\n", s.Unfinished)
	default:
		return fmt.Sprintf("unfinished %d: nothing moved any more, and the ledger still waits for them\n", s.Unfinished)
	}
}

// Unproven says why a run that broke no promise proves less than it was to; empty where it proves all.
func (s Summary) Unproven() string {
	switch {
	case s.Unfinished == 0:
		return ""
	case s.ending == timeOver:
		return fmt.Sprintf("%d of %d operations were unfinished when the time was over; no promise was broken: "+
			"give them more with --max-time, or submit fewer with --operations", s.Unfinished, s.Operations)
	default:
		return fmt.Sprintf("%d of %d operations were unfinished when nothing moved any more; no promise was broken: "+
			"--verbose shows what was tried, --keep lets you look into the ledger", s.Unfinished, s.Operations)
	}
}
