package local

import (
	"fmt"
	"io"
)

// A Summary is the outcome of a run.
type Summary struct {
	Operations int `json:"operations"`
	JobSummary
	// Lost: operations whose effect is not done and never will be. Doubled: idempotency keys that
	// the receiver accepted twice. Regressed: operations that were seen settled and later in
	// another state.
	Lost      int `json:"lost"`
	Doubled   int `json:"doubled"`
	Regressed int `json:"regressed"`
	// Unfinished: operations and jobs that the ledger waited for, or that were not submitted, when the run
	// ended.
	Unfinished int `json:"unfinished"`
	// Wrong: operations that have another state in the ledger than at Gemini.
	Wrong int `json:"wrong"`

	SettledByWebhook   int `json:"settledByWebhook"`
	SettledByReconcile int `json:"settledByReconcile"` // no delivery came in time
	Unregistered       int `json:"unregistered"`       // known from deliveries only

	DeliveriesLost      int `json:"deliveriesLost"`
	DeliveriesRepeated  int `json:"deliveriesRepeated"`
	DeliveriesLate      int `json:"deliveriesLate"`
	DeliveriesReordered int `json:"deliveriesReordered"`
	DeliveriesRetried   int `json:"deliveriesRetried"`
	DeployWindowHits    int `json:"deployWindowHits"`
	APIFaults           int `json:"apiFaults"`

	MessagesLost       int `json:"messagesLost"` // of planned effects, on the way to the worker
	MessagesRepeated   int `json:"messagesRepeated"`
	EffectsRefused     int `json:"effectsRefused"`     // by the receiver, with nothing done
	EffectAnswersLost  int `json:"effectAnswersLost"`  // done, with the receiver's answer lost
	EffectRepeatsKnown int `json:"effectRepeatsKnown"` // repeats after a lost answer, which the receiver recognised

	Seed    uint64  `json:"seed"` // the same seed makes the same faults
	Seconds float64 `json:"seconds"`
	ending  ending
}

// Clean reports whether the run broke no promise. An unfinished run can be clean.
func (s Summary) Clean() bool {
	return s.Lost == 0 && s.Doubled == 0 && s.Regressed == 0 && s.Wrong == 0 &&
		s.JobLost == 0 && s.JobTwice == 0 && s.JobWrong == 0
}

// Print writes the summary as text.
func (s Summary) Print(w io.Writer) error {
	if s.Wrong > 0 {
		if _, err := fmt.Fprintf(w, "settled in another state than at Gemini: %d\n", s.Wrong); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, `%d operations in %.1f s, seed %d: %d settled by webhook, %d recovered by reconciliation
deliveries: %d lost, %d repeated, %d late, %d out of order, %d retried, %d into deploy windows; %d faults of the API
effects: %d messages lost, %d repeated; %d refused and retried, %d answers lost, %d repeats that the receiver recognised
%s%slost %d · doubled %d · regressed %d
`,
		s.Operations, s.Seconds, s.Seed, s.SettledByWebhook, s.SettledByReconcile,
		s.DeliveriesLost, s.DeliveriesRepeated, s.DeliveriesLate, s.DeliveriesReordered, s.DeliveriesRetried,
		s.DeployWindowHits, s.APIFaults, s.MessagesLost, s.MessagesRepeated,
		s.EffectsRefused, s.EffectAnswersLost, s.EffectRepeatsKnown,
		s.jobWords(), s.unfinishedWords(), s.Lost, s.Doubled, s.Regressed)
	return err
}

// jobWords is a line about the jobs, or nothing, and one about what is wrong with them.
func (s Summary) jobWords() string {
	if s.Jobs == 0 {
		return ""
	}
	words := fmt.Sprintf("jobs: %d ended, %d requests, %d sent again, %d twice, %d lost\n",
		s.JobsEnded, s.JobRequests, s.JobSentAgain, s.JobTwice, s.JobLost)
	if s.JobWrong > 0 {
		words += fmt.Sprintf("of jobs, wrong answers, wrong counts and requests sent too often: %d\n", s.JobWrong)
	}
	return words
}

// unfinishedWords is a line about the operations that are unfinished, or nothing.
func (s Summary) unfinishedWords() string {
	switch {
	case s.Unfinished == 0:
		return ""
	case s.ending == timeOver:
		return fmt.Sprintf("unfinished %d: the time ran out while they were in progress\n", s.Unfinished)
	default:
		return fmt.Sprintf("unfinished %d: nothing changed any more, and the ledger waits for them\n", s.Unfinished)
	}
}

// Unproven says why a clean run proves less than all promises; empty if it proves all.
func (s Summary) Unproven() string {
	switch {
	case s.Unfinished == 0:
		return ""
	case s.ending == timeOver:
		return fmt.Sprintf("%d of %d operations were unfinished when the time ran out; no promise was broken: "+
			"give them more with --max-time, or submit fewer with --operations", s.Unfinished, s.Operations+s.Jobs)
	default:
		return fmt.Sprintf("%d of %d operations were unfinished when nothing changed any more; no promise was broken: "+
			"--verbose shows what was tried, --keep lets you inspect the ledger", s.Unfinished, s.Operations+s.Jobs)
	}
}
