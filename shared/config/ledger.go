package config

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Ledger is what the ledger decides by. All processes that write to one store should have the same
// settings.
type Ledger struct {
	// Grace is how old an operation is before its first look-up.
	Grace time.Duration `env:"OPLEDGER_GRACE" envDefault:"90s"`
	Passes
	// LookupMaxInterval is the longest time between two look-ups of one operation, where a webhook delivers; at
	// least OPLEDGER_INTERVAL. Not set: the larger of 1h and the interval.
	LookupMaxInterval *time.Duration `env:"OPLEDGER_LOOKUP_MAX_INTERVAL"`
	Lateness
	// AlertEvery is the time until such an alert is repeated.
	AlertEvery time.Duration `env:"OPLEDGER_ALERT_EVERY" envDefault:"24h"`
	// Retention is how long a record is kept once it is settled and its effects are done; at least 24h,
	// because Gemini redelivers for that long.
	Retention time.Duration `env:"OPLEDGER_RETENTION" envDefault:"336h"`
	// ClaimTTL is the lease of an effect: 3 to 5 times as long as the effect usually takes.
	ClaimTTL time.Duration `env:"OPLEDGER_CLAIM_TTL" envDefault:"10m"`
	Attempts
	// ResultsKept is how long Gemini keeps a batch's result after its end, by its guide. An item that is
	// too large for the ledger can be fetched for a replay for so long.
	ResultsKept time.Duration `env:"OPLEDGER_RESULTS_KEPT" envDefault:"1008h"`
	// MaxBatches is how many batches of jobs run at once, of all jobs together, from 1 to 100. With those of others
	// that a pass has listed they are at most 100, as Gemini allows.
	MaxBatches int `env:"OPLEDGER_MAX_BATCHES" envDefault:"80"`
	// EnqueuedTokens are Gemini's quotas of enqueued tokens, such as gemini-3.5-flash=3000000, separated by spaces:
	// the batches of jobs that run have no more of a model, as estimated.
	EnqueuedTokens job.Quotas `env:"OPLEDGER_ENQUEUED_TOKENS" secret:"no"`
	// Prices are of models at the Batch API: MODEL=INPUT/OUTPUT in dollars per million tokens, such as
	// gemini-3.5-flash=1/6, separated by spaces. A job keeps the one of its submission.
	Prices job.Prices `env:"OPLEDGER_PRICES" secret:"no"`
	// RestoredAt is when the ledger was last restored from a backup, such as 2026-11-21T14:00:00Z. Fences
	// continue from it. It may stay.
	RestoredAt time.Time `env:"OPLEDGER_RESTORED_AT"`
	// EffectsText is the list of effects and when each runs: YAML, JSON or @FILE. Not set: a log
	// effect on each terminal state. All functions need the same text; a command takes the ledger's.
	EffectsText string `env:"OPLEDGER_EFFECTS"`
	// Transitions are allowed moves between terminal states, such as SUCCEEDED:FAILED, separated by
	// spaces. The later state must have a newer time.
	Transitions operation.Transitions `env:"OPLEDGER_TERMINAL_TRANSITIONS" secret:"no"`

	// Effects are the effects in EffectsText, or the default.
	Effects []spec.Spec `env:"-"`
	// fetchesResults: one of them fetches results, even if it has a mistake.
	fetchesResults bool
	// taken are the rules that the ledger has stored; nil: those of Effects count.
	taken []ledger.Rule
}

// Attempts is the part of Ledger that says when a failing effect is given up.
type Attempts struct {
	// MaxAttempts is the number of failed attempts after which an effect may be DEAD.
	MaxAttempts int `env:"OPLEDGER_MAX_ATTEMPTS" envDefault:"10"`
	// RetryFor is how long an effect must also have been failing before it is DEAD; 0: attempts alone
	// decide.
	RetryFor time.Duration `env:"OPLEDGER_RETRY_FOR" envDefault:"24h"`
}

// Passes is the part of Ledger that says how often a pass is made.
type Passes struct {
	// Interval is the time between two look-ups of a young operation, and between two passes of serve.
	Interval time.Duration `env:"OPLEDGER_INTERVAL" envDefault:"5m"`
}

// Lateness is the part of Ledger that says when a pending operation is late. A command that only reads needs
// it, too: the field by which the late are found is derived again at each read [L5].
type Lateness struct {
	// StuckAfter is how long an operation, or an intent without one, may be pending before an alert. The
	// intent is then given up, in doubt at twice that. Not set: 24h for a batch, else 6h.
	StuckAfter *time.Duration `env:"OPLEDGER_STUCK_AFTER"`
}

func (l *Lateness) validate(p *diag.Problems) {
	addOfLedger(p, l.Settings(), reflect.TypeFor[Lateness]())
}

// Settings returns the ledger's default settings with this part of them: for a ledger that plans nothing.
func (l *Lateness) Settings() ledger.Settings {
	s := ledger.DefaultSettings()
	if l.StuckAfter != nil {
		s.StuckAfter, s.BatchStuckAfter = *l.StuckAfter, 0
	}
	return s
}

// redelivery is how long Gemini delivers an event again that was not answered with 2xx.
const redelivery = 24 * time.Hour

func (l *Ledger) validate(p *diag.Problems) {
	addOfLedger(p, l.Settings(), reflect.TypeFor[Ledger]())
	// An expired delivery would count as a new one [L3, S7].
	p.When(l.Retention > 0 && l.Retention < redelivery,
		"OPLEDGER_RETENTION: it must be at least 24h, because Gemini redelivers for that long")
	var err error
	l.Effects, err = parseEffects(l.EffectsText, l.Transitions)
	l.fetchesResults = slices.ContainsFunc(l.Effects, spec.Spec.FetchesResults)
	if err != nil {
		l.Effects = nil // no handler may be made of them
	}
	p.Of(effectsVariable, err)
}

// addOfLedger adds what the ledger finds in every setting but the effects, by the variables of their group.
func addOfLedger(p *diag.Problems, s ledger.Settings, group reflect.Type) {
	for _, err := range diag.Split(s.Validate()) {
		problem, ok := errors.AsType[ledger.SettingProblem](err)
		p.When(ok, "%s: %s", variableOf(problem.Field, group), problem.Text)
	}
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
	var p diag.Problems
	p.Of(effectsVariable, spec.Warnings(l.Effects))
	return errors.Join(p...)
}

// Settings returns the ledger's settings.
func (l *Ledger) Settings() ledger.Settings {
	d := l.Lateness.Settings()
	s := ledger.Settings{
		Grace: l.Grace, Interval: l.Interval, LookupMaxInterval: max(d.LookupMaxInterval, l.Interval),
		StuckAfter: d.StuckAfter, BatchStuckAfter: d.BatchStuckAfter, AlertEvery: l.AlertEvery,
		Retention: l.Retention, ClaimTTL: l.ClaimTTL, MaxAttempts: l.MaxAttempts, RetryFor: l.RetryFor,
		RestoredAt: l.RestoredAt, ResultsKept: l.ResultsKept, MaxBatches: l.MaxBatches,
		EnqueuedTokens: l.EnqueuedTokens, Rules: l.Rules(), Transitions: l.Transitions, Prices: l.Prices,
	}
	if l.LookupMaxInterval != nil {
		s.LookupMaxInterval = *l.LookupMaxInterval
	}
	return s
}
