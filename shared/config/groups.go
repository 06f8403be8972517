package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Project is the Google Cloud project.
type Project struct {
	ID string `env:"GOOGLE_CLOUD_PROJECT"`
}

// StoreText is where the ledger is, for ParseStore.
type StoreText struct {
	Text string `env:"OPLEDGER_STORE"`
}

// Store says where the ledger is: in a Firestore database or an SQLite file.
type Store struct {
	Text string // as in OPLEDGER_STORE
	// SQLite is the path of the file; empty for Firestore.
	SQLite string
	// Database is the Firestore database; empty for the default one.
	Database string
}

// DefaultSQLite is the file of the embedded store where nothing else is said.
const DefaultSQLite = "opledger.db"

// ParseStore reads "firestore[:DATABASE]" or "sqlite:PATH". Nothing means Firestore where there is a project, else
// DefaultSQLite in the working directory.
func ParseStore(text string, project Project) (Store, error) {
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case text == "" && project.ID == "":
		return Store{Text: "sqlite:" + DefaultSQLite, SQLite: DefaultSQLite}, nil
	case text == "":
		return Store{Text: "firestore"}, nil
	case kind == "sqlite" && rest != "":
		return Store{Text: text, SQLite: rest}, nil
	case kind == "firestore" && project.ID == "":
		return Store{}, errors.New("firestore needs GOOGLE_CLOUD_PROJECT to be set")
	case kind == "firestore":
		return Store{Text: text, Database: rest}, nil
	default:
		return Store{}, fmt.Errorf("it must be firestore, firestore:DATABASE or sqlite:PATH, not %q", text)
	}
}

// Firestore is where a deployed function finds the ledger: in Firestore, and nowhere else.
type Firestore struct {
	ProjectID string `env:"GOOGLE_CLOUD_PROJECT"`
	StoreText string `env:"OPLEDGER_STORE" envDefault:"firestore"`

	Database string `env:"-"` // empty: the default one
}

func (f *Firestore) validate() []error {
	var problems []error
	project := Project{ID: f.ProjectID}
	if project.ID == "" {
		problems = append(problems,
			errors.New("GOOGLE_CLOUD_PROJECT: it is not set; the ledger is in that project's Firestore"))
		project.ID = "any" // it is missed once
	}
	store, err := ParseStore(f.StoreText, project)
	if err == nil && store.SQLite != "" {
		err = errors.New("a deployed function keeps its ledger in Firestore: it must be firestore or firestore:DATABASE")
	}
	f.Database = store.Database
	return append(problems, problemsOf("OPLEDGER_STORE", err)...)
}

// Topic is where a deployed function publishes effects.
type Topic struct {
	Name string `env:"OPLEDGER_TOPIC"`
}

func (t *Topic) validate() []error {
	if t.Name == "" {
		return []error{errors.New("OPLEDGER_TOPIC: it is not set; planned effects are published to that Pub/Sub topic")}
	}
	return nil
}

// OptionalTopic is Topic where effects may be handed over inside the process instead.
type OptionalTopic struct {
	Name string `env:"OPLEDGER_TOPIC"`
}

// Ledger is what the ledger decides by. Everything that writes to one store should be given the same. The defaults
// are those of [ledger.DefaultSettings].
type Ledger struct {
	Grace       time.Duration `env:"OPLEDGER_GRACE"`
	Interval    time.Duration `env:"OPLEDGER_INTERVAL"`
	StuckAfter  time.Duration `env:"OPLEDGER_STUCK_AFTER"`
	AlertEvery  time.Duration `env:"OPLEDGER_ALERT_EVERY"`
	Retention   time.Duration `env:"OPLEDGER_RETENTION"`
	ClaimTTL    time.Duration `env:"OPLEDGER_CLAIM_TTL"`
	MaxAttempts int           `env:"OPLEDGER_MAX_ATTEMPTS"`
	RetryFor    time.Duration `env:"OPLEDGER_RETRY_FOR"`
	RestoredAt  time.Time     `env:"OPLEDGER_RESTORED_AT"`
	EffectsText string        `env:"OPLEDGER_EFFECTS"`
	Transitions string        `env:"OPLEDGER_TERMINAL_TRANSITIONS"`

	// Effects is what EffectsText says, or the default.
	Effects        []effect.Spec `env:"-"`
	allowed        operation.Transitions
	fetchesResults bool // an effect does, even if it has a mistake
}

func (l *Ledger) setDefaults() {
	d := ledger.DefaultSettings()
	l.Grace, l.Interval, l.StuckAfter, l.AlertEvery = d.Grace, d.Interval, d.StuckAfter, d.AlertEvery
	l.Retention, l.ClaimTTL, l.MaxAttempts, l.RetryFor = d.Retention, d.ClaimTTL, d.MaxAttempts, d.RetryFor
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

// redelivery is how long Gemini goes on to deliver what was not taken.
const redelivery = 24 * time.Hour

func (l *Ledger) validate() []error {
	var problems []error
	for _, d := range []struct {
		variable string
		value    time.Duration
	}{
		{"OPLEDGER_GRACE", l.Grace}, {"OPLEDGER_INTERVAL", l.Interval}, {"OPLEDGER_STUCK_AFTER", l.StuckAfter},
		{"OPLEDGER_ALERT_EVERY", l.AlertEvery}, {"OPLEDGER_CLAIM_TTL", l.ClaimTTL},
	} {
		if d.value <= 0 {
			problems = append(problems, fmt.Errorf("%s: it must be a duration longer than zero, such as 90s or 5m", d.variable))
		}
	}
	if l.Retention < redelivery { // a delivery that the ledger has forgotten would be a new one [L3, S7]
		problems = append(problems,
			errors.New("OPLEDGER_RETENTION: it must be at least 24h: Gemini delivers again for so long"))
	}
	if l.MaxAttempts < 1 {
		problems = append(problems, errors.New("OPLEDGER_MAX_ATTEMPTS: it must be at least 1"))
	}
	if l.RetryFor < 0 {
		problems = append(problems,
			errors.New("OPLEDGER_RETRY_FOR: it must not be negative; 0 lets the attempts alone decide"))
	}
	var err error
	l.allowed, err = operation.ParseTransitions(l.Transitions)
	problems = append(problems, problemsOf("OPLEDGER_TERMINAL_TRANSITIONS", err)...)
	l.Effects, err = parseEffects(l.EffectsText, l.allowed)
	l.fetchesResults = slices.ContainsFunc(l.Effects, effect.Spec.FetchesResults)
	if err != nil {
		l.Effects = nil // no handler may be made of them
	}
	return append(problems, problemsOf("OPLEDGER_EFFECTS", err)...)
}

// parseEffects returns the effects in OPLEDGER_EFFECTS, or the default where it is not set. Beside an error they are what could be read.
func parseEffects(text string, allowed operation.Transitions) ([]effect.Spec, error) {
	if text == "" {
		specs := effect.Default()
		return specs, ledger.ValidateRules(effect.Rules(specs), allowed)
	}
	specs, err := fileOrText(text)
	if err != nil {
		return nil, err
	}
	return effect.ParseSpecs(specs, allowed)
}

// Settings returns the ledger's settings.
func (l *Ledger) Settings() ledger.Settings {
	return ledger.Settings{
		Grace: l.Grace, Interval: l.Interval, StuckAfter: l.StuckAfter, AlertEvery: l.AlertEvery,
		Retention: l.Retention, ClaimTTL: l.ClaimTTL, MaxAttempts: l.MaxAttempts, RetryFor: l.RetryFor,
		RestoredAt: l.RestoredAt,
		Rules:      effect.Rules(l.Effects), Transitions: l.allowed,
	}
}

// Slots is how many requests one process of a deployed function is given at once.
type Slots struct {
	Requests int `env:"OPLEDGER_EFFECTS_SLOTS" envDefault:"20"`
}

func (s *Slots) validate() []error {
	if s.Requests < 1 {
		return []error{fmt.Errorf("OPLEDGER_EFFECTS_SLOTS: it must be at least 1, not %d", s.Requests)}
	}
	return nil
}

// Port is what a server listens on.
type Port struct {
	Number int `env:"PORT" envDefault:"8080"`
}
