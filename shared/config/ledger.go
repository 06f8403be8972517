package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Ledger is what the ledger decides by. All processes that write to one store should have the same
// settings. The defaults are those of [ledger.DefaultSettings].
type Ledger struct {
	// Grace is how old an operation is before its first look-up.
	Grace time.Duration `env:"OPLEDGER_GRACE"`
	// Interval is the time between two look-ups of a young operation, and between two passes of serve.
	Interval time.Duration `env:"OPLEDGER_INTERVAL"`
	// LookupMax is the longest time between two look-ups of one operation, where a webhook delivers; at
	// least OPLEDGER_INTERVAL. Not set: the larger of 1h and the interval.
	LookupMax time.Duration `env:"OPLEDGER_LOOKUP_MAX_INTERVAL"`
	// StuckAfter is how long an operation is pending, or an intent without one, before an alert. Not set:
	// 24h for a batch, 6h for a video, an interaction and an intent.
	StuckAfter time.Duration `env:"OPLEDGER_STUCK_AFTER"`
	// AlertEvery is the time until such an alert is repeated.
	AlertEvery time.Duration `env:"OPLEDGER_ALERT_EVERY"`
	// Retention is how long a record is kept once it is settled and its effects are done; at least 24h,
	// because Gemini redelivers for that long.
	Retention time.Duration `env:"OPLEDGER_RETENTION"`
	// ClaimTTL is the lease of an effect: 3 to 5 times as long as the effect usually takes.
	ClaimTTL time.Duration `env:"OPLEDGER_CLAIM_TTL"`
	// MaxAttempts is the number of failed attempts after which an effect may be DEAD.
	MaxAttempts int `env:"OPLEDGER_MAX_ATTEMPTS"`
	// RetryFor is how long an effect must also have been failing before it is DEAD; 0: attempts alone
	// decide.
	RetryFor time.Duration `env:"OPLEDGER_RETRY_FOR"`
	// ResultsKept is how long Gemini keeps a batch's result after its end, by its guide. An item that is
	// too large for the ledger can be fetched for a replay for so long.
	ResultsKept time.Duration `env:"OPLEDGER_RESULTS_KEPT"`
	// RestoredAt is when the ledger was last restored from a backup, such as 2026-11-21T14:00:00Z. Fences
	// continue from it. It may stay.
	RestoredAt time.Time `env:"OPLEDGER_RESTORED_AT"`
	// EffectsText is what runs when: YAML or JSON, or @FILE. Not set: one log effect on every end. All
	// functions need the same text; a command takes the rules from the ledger.
	EffectsText string `env:"OPLEDGER_EFFECTS"`
	// Transitions are allowed moves between ends, such as SUCCEEDED:FAILED, separated by spaces. The
	// later end must have a newer time.
	Transitions operation.Transitions `env:"OPLEDGER_TERMINAL_TRANSITIONS"`

	// Effects are the effects in EffectsText, or the default.
	Effects []spec.Spec `env:"-"`
	// fetchesResults: one of them fetches results, even if it has a mistake.
	fetchesResults bool
	// taken are the rules that the ledger has stored; nil: those of Effects count.
	taken []ledger.Rule
}

// notSet is no value that an operator would set, so that a zero is told from a default.
const notSet = -time.Nanosecond

func (l *Ledger) setDefaults() {
	d := ledger.DefaultSettings()
	l.Grace, l.Interval, l.AlertEvery = d.Grace, d.Interval, d.AlertEvery
	l.LookupMax, l.StuckAfter = notSet, notSet
	l.Retention, l.ClaimTTL, l.MaxAttempts, l.RetryFor = d.Retention, d.ClaimTTL, d.MaxAttempts, d.RetryFor
	l.ResultsKept = d.ResultsKept
}

// Attempts is the part of Ledger that says when a failing effect is given up.
type Attempts struct {
	Max      int           `env:"OPLEDGER_MAX_ATTEMPTS"`
	RetryFor time.Duration `env:"OPLEDGER_RETRY_FOR"`
}

func (a *Attempts) setDefaults() {
	d := ledger.DefaultSettings()
	a.Max, a.RetryFor = d.MaxAttempts, d.RetryFor
}

// Passes is the part of Ledger that says how often a pass is made.
type Passes struct {
	Interval time.Duration `env:"OPLEDGER_INTERVAL"`
}

func (p *Passes) setDefaults() { p.Interval = ledger.DefaultSettings().Interval }

// redelivery is how long Gemini delivers an event again that was not answered with 2xx.
const redelivery = 24 * time.Hour

func (l *Ledger) validate() []error {
	var problems []error
	for _, d := range []struct {
		variable string
		value    time.Duration
	}{
		{"OPLEDGER_GRACE", l.Grace}, {"OPLEDGER_INTERVAL", l.Interval}, {"OPLEDGER_STUCK_AFTER", l.StuckAfter},
		{"OPLEDGER_ALERT_EVERY", l.AlertEvery}, {"OPLEDGER_CLAIM_TTL", l.ClaimTTL},
		{"OPLEDGER_RESULTS_KEPT", l.ResultsKept},
	} {
		if d.value <= 0 && d.value != notSet {
			problems = append(problems, fmt.Errorf("%s: it must be a duration longer than zero, such as 90s or 5m", d.variable))
		}
	}
	if l.LookupMax != notSet && l.LookupMax < l.Interval {
		problems = append(problems, fmt.Errorf("OPLEDGER_LOOKUP_MAX_INTERVAL: it must be at least OPLEDGER_INTERVAL, "+
			"and %v is shorter than %v", l.LookupMax, l.Interval))
	}
	if l.Retention < redelivery { // an expired delivery would count as a new one [L3, S7]
		problems = append(problems,
			errors.New("OPLEDGER_RETENTION: it must be at least 24h, because Gemini redelivers for that long"))
	}
	if l.MaxAttempts < 1 {
		problems = append(problems, errors.New("OPLEDGER_MAX_ATTEMPTS: it must be at least 1"))
	}
	if l.RetryFor < 0 {
		problems = append(problems,
			errors.New("OPLEDGER_RETRY_FOR: it must not be negative; with 0 only the number of attempts counts"))
	}
	var err error
	l.Effects, err = parseEffects(l.EffectsText, l.Transitions)
	l.fetchesResults = slices.ContainsFunc(l.Effects, spec.Spec.FetchesResults)
	if err != nil {
		l.Effects = nil // no handler may be made of them
	}
	return append(problems, problemsOf("OPLEDGER_EFFECTS", err)...)
}

// parseEffects returns the effects in OPLEDGER_EFFECTS, or the default if it is not set. Beside an
// error they are those that could be read.
func parseEffects(text string, allowed operation.Transitions) ([]spec.Spec, error) {
	if text == "" {
		specs := kinds.Default()
		return specs, ledger.ValidateRules(spec.Rules(specs), allowed)
	}
	list, err := fileOrText(text)
	if err != nil {
		return nil, err
	}
	return kinds.ParseSpecs(list, allowed)
}

// PlainSecrets reports each effect whose url seems to hold a secret, joined.
func PlainSecrets(l Ledger) error {
	return errors.Join(problemsOf("OPLEDGER_EFFECTS", spec.Warnings(l.Effects))...)
}

// Settings returns the ledger's settings.
func (l *Ledger) Settings() ledger.Settings {
	s := ledger.Settings{
		Grace: l.Grace, Interval: l.Interval, AlertEvery: l.AlertEvery, Retention: l.Retention,
		ClaimTTL: l.ClaimTTL, MaxAttempts: l.MaxAttempts, RetryFor: l.RetryFor, RestoredAt: l.RestoredAt,
		ResultsKept: l.ResultsKept,
		Rules:       l.Rules(), Transitions: l.Transitions,
	}
	if l.LookupMax != notSet {
		s.LookupMaxInterval = l.LookupMax
	}
	if s.StuckAfter = l.StuckAfter; s.StuckAfter == notSet {
		d := ledger.DefaultSettings()
		s.StuckAfter, s.BatchStuckAfter = d.StuckAfter, d.BatchStuckAfter
	}
	return s
}
