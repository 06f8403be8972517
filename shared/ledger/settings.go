package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// Settings are what the ledger's decisions depend on beside the documents. Processes that share a
// store should share them.
type Settings struct {
	Grace    time.Duration // between the submission and the first look-up [R1]
	Interval time.Duration // between two look-ups of one operation, while it is young
	// LookupMaxInterval is the longest time between two look-ups of one operation, however old it is;
	// 0: the longer of an hour and Interval [R6].
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
	Rules       []Rule
	Transitions operation.Transitions
	// RestoredAt is when the store was last restored from a backup; zero: never. Fences continue
	// from it [S6].
	RestoredAt time.Time
}

// DefaultSettings returns the defaults [R7, S5], without rules. They are stated only here.
func DefaultSettings() Settings {
	return Settings{
		Grace:      90 * time.Second,
		Interval:   5 * time.Minute,
		StuckAfter: 6 * time.Hour,
		// Gemini aims at a day for a batch; valid ones took 9 hours.
		BatchStuckAfter: 24 * time.Hour,
		AlertEvery:      24 * time.Hour,
		Retention:       14 * 24 * time.Hour,
		ClaimTTL:        10 * time.Minute,
		MaxAttempts:     10,
		RetryFor:        24 * time.Hour,
		ResultsKept:     6 * 7 * 24 * time.Hour, // Gemini's guide of 2026-09-18
	}
}

// stuckAfter returns how long an operation of a collection is pending before that is alerted.
func (s Settings) stuckAfter(c operation.Collection) time.Duration {
	switch c {
	case operation.Batches, operation.BatchJobs, operation.BatchPredictionJobs:
		return cmp.Or(s.BatchStuckAfter, s.StuckAfter)
	default:
		return s.StuckAfter
	}
}

// nextFence returns the fence of a claim after one with the fence before. A restored store has lost
// the claims made after its backup, so fences continue from RestoredAt, in milliseconds of Unix
// time. No effect has been claimed that often, and a second restore is later.
func (s Settings) nextFence(before int64) int64 {
	return max(before+1, s.RestoredAt.UnixMilli()) // without a restore, that is below zero
}

// lookupMax returns LookupMaxInterval or its default.
func (s Settings) lookupMax() time.Duration {
	return cmp.Or(s.LookupMaxInterval, max(time.Hour, s.Interval))
}

// Validate returns every problem of the settings, joined; nil if there is none.
func (s Settings) Validate() error {
	var problems []error
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"grace", s.Grace}, {"interval", s.Interval}, {"stuck-after", s.StuckAfter}, {"alert-every", s.AlertEvery},
		{"retention", s.Retention}, {"claim TTL", s.ClaimTTL}, {"results-kept", s.ResultsKept},
	} {
		if d.d <= 0 {
			problems = append(problems, fmt.Errorf("%s must be longer than zero, not %v", d.name, d.d))
		}
	}
	if s.BatchStuckAfter < 0 {
		problems = append(problems, fmt.Errorf("batch-stuck-after must not be negative, but it is %v", s.BatchStuckAfter))
	}
	if s.lookupMax() < s.Interval {
		problems = append(problems, fmt.Errorf("lookup-max-interval, %v, must not be shorter than interval, %v",
			s.LookupMaxInterval, s.Interval))
	}
	if s.RetryFor < 0 {
		problems = append(problems, fmt.Errorf("retry-for must not be negative, but it is %v", s.RetryFor))
	}
	if s.MaxAttempts < 1 {
		problems = append(problems, fmt.Errorf("max attempts must be at least 1, not %d", s.MaxAttempts))
	}
	return errors.Join(append(problems, ValidateRules(s.Rules, s.Transitions))...)
}
