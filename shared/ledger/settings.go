package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// Settings are what the ledger's decisions depend on beside the documents. Processes that share a
// store should share them.
type Settings struct {
	Grace    time.Duration // between the submission and the first look-up [R1]
	Interval time.Duration // between two look-ups of one operation, while it is young
	// LookupMaxInterval is the longest time between two look-ups of one operation, however old it is; at
	// least Interval [R6].
	LookupMaxInterval time.Duration
	// StuckAfter is how long an operation is pending before that is alerted [R4]; BatchStuckAfter is that
	// of a batch; 0: StuckAfter. An intent is given up StuckAfter after its submitter's last attempt
	// [G6], or twice as long after it while it is uncertain whether anything was submitted: see
	// GiveUpAnyway. The store's clock counts as steady once it has run evenly for StuckAfter: see Steady.
	StuckAfter, BatchStuckAfter time.Duration
	AlertEvery                  time.Duration // and again after each such period
	Retention                   time.Duration // how long a closed record is kept [L3]
	ClaimTTL                    time.Duration // the lease of a claimed effect [S5]
	MaxAttempts                 int           // how many attempts of an effect fail before it may be DEAD
	// RetryFor is how long an effect must also have been failing before it is DEAD; 0: attempts
	// alone count [S4].
	RetryFor time.Duration
	// ResultsKept is how long Gemini keeps a result after the end of its batch.
	ResultsKept time.Duration
	// MaxBatches is how many batches of jobs run at once, of all jobs together.
	MaxBatches int
	// EnqueuedTokens are the quotas of tokens that the unfinished batches of a model may have; none: they are not known.
	EnqueuedTokens job.Quotas
	Rules          []Rule
	Transitions    operation.Transitions
	// Prices are those that jobs get at their submission.
	Prices job.Prices
	// RestoredAt is when the store was last restored from a backup; zero: never. Fences continue
	// from it [S6].
	RestoredAt time.Time
}

// DefaultSettings returns the settings of a deployment that sets none [R7, S5], without rules. The tags
// in shared/config give them to a process; a test there compares them with these.
func DefaultSettings() Settings {
	return Settings{
		Grace:             90 * time.Second,
		Interval:          5 * time.Minute,
		LookupMaxInterval: time.Hour,
		StuckAfter:        6 * time.Hour,
		// Gemini aims at a day for a batch; valid ones took 9 hours.
		BatchStuckAfter: 24 * time.Hour,
		AlertEvery:      24 * time.Hour,
		Retention:       14 * 24 * time.Hour,
		ClaimTTL:        10 * time.Minute,
		MaxAttempts:     10,
		RetryFor:        24 * time.Hour,
		ResultsKept:     6 * 7 * 24 * time.Hour, // Gemini's guide of 2026-09-18
		MaxBatches:      80,                     // of Gemini's 100: the others are for submitters beside jobs
	}
}

// JobStuckAfter is how long a job takes no step before it counts as stuck [R4].
const JobStuckAfter = 24 * time.Hour

// stuckAfter returns how long an operation of a collection is pending before that is alerted.
func (s Settings) stuckAfter(c operation.Collection) time.Duration {
	switch c {
	case operation.Batches, operation.BatchJobs, operation.BatchPredictionJobs:
		return cmp.Or(s.BatchStuckAfter, s.StuckAfter)
	case operation.Jobs:
		return JobStuckAfter
	default:
		return s.StuckAfter
	}
}

// OverdueAfter is for how long something may be due before that is a problem: three intervals, and an hour at
// least, because the sweep publishes an unanswered effect only once an hour [R8].
func (s Settings) OverdueAfter() time.Duration { return max(3*s.Interval, time.Hour) }

// nextFence returns the fence of a claim after one with the fence before. A restored store has lost
// the claims made after its backup, so fences continue from RestoredAt, in milliseconds of Unix
// time. No effect has been claimed that often, and a second restore is later.
func (s Settings) nextFence(before int64) int64 {
	return max(before+1, s.RestoredAt.UnixMilli()) // without a restore, that is below zero
}

// A SettingProblem is what is wrong with one field of Settings.
type SettingProblem struct{ Field, Text string }

func (p SettingProblem) Error() string { return p.Field + ": " + p.Text }

// Validate returns every problem of the settings, joined; nil if there is none. One of a field is a
// SettingProblem; the others are those of ValidateRules.
func (s Settings) Validate() error {
	var problems []error
	require := func(ok bool, field, format string, args ...any) {
		if !ok {
			problems = append(problems, SettingProblem{field, fmt.Sprintf(format, args...)})
		}
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"Grace", s.Grace}, {"Interval", s.Interval}, {"StuckAfter", s.StuckAfter}, {"AlertEvery", s.AlertEvery},
		{"Retention", s.Retention}, {"ClaimTTL", s.ClaimTTL}, {"ResultsKept", s.ResultsKept},
	} {
		require(d.value > 0, d.field, "it must be a duration longer than zero, such as 90s or 5m")
	}
	require(s.BatchStuckAfter >= 0, "BatchStuckAfter", "it must not be negative; with 0 StuckAfter counts")
	require(s.LookupMaxInterval >= s.Interval, "LookupMaxInterval",
		"it must be at least the interval, and %v is shorter than %v", s.LookupMaxInterval, s.Interval)
	require(s.RetryFor >= 0, "RetryFor", "it must not be negative; with 0 only the number of attempts counts")
	require(s.MaxBatches >= 1 && s.MaxBatches <= 100, "MaxBatches", "it must be from 1 to 100, not %d", s.MaxBatches)
	for model, tokens := range s.EnqueuedTokens {
		require(tokens > 0, "EnqueuedTokens", "the tokens of %s must be more than 0, not %d", model, tokens)
	}
	require(s.MaxAttempts >= 1, "MaxAttempts", "it must be at least 1")
	return errors.Join(append(problems, ValidateRules(s.Rules, s.Transitions))...)
}
