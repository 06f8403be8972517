package ledger

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// Settings are what the ledger's decisions depend on beside the documents. Processes that share a store should share them.
type Settings struct {
	Grace       time.Duration // after submission, before reconciliation first looks [R1]
	Interval    time.Duration // between two looks at one operation
	StuckAfter  time.Duration // pending longer than this is said aloud [R4]
	AlertEvery  time.Duration // and again after this
	Retention   time.Duration // how long a closed record is kept [L3]
	ClaimTTL    time.Duration // lease of a claimed effect [S5]
	MaxAttempts int           // failed attempts of one effect before it may be DEAD
	// RetryFor is how long an effect must have been failing, too, before it is DEAD; 0: attempts alone count [S4].
	RetryFor    time.Duration
	Rules       []Rule
	Transitions operation.Transitions
	// RestoredAt is when the store was last restored from a backup; zero: never. Fences go on from there [S6].
	RestoredAt time.Time
}

// DefaultSettings returns the defaults [R7, S5], without rules.
func DefaultSettings() Settings {
	return Settings{
		Grace:       90 * time.Second,
		Interval:    5 * time.Minute,
		StuckAfter:  6 * time.Hour,
		AlertEvery:  24 * time.Hour,
		Retention:   14 * 24 * time.Hour,
		ClaimTTL:    10 * time.Minute,
		MaxAttempts: 10,
		RetryFor:    24 * time.Hour,
	}
}

// A Rule plans one side effect: for operations that come into one of the states, and whose job kind matches. It plans one
// more, a run with a name of its own, for each of the alerts.
type Rule struct {
	// Name is the effect's name: it becomes part of keys and document ids, so it must not change while effects are open.
	Name   string
	On     []operation.State
	Alerts []Alert
	// JobKinds are glob patterns as in path.Match; none means every job kind.
	JobKinds []string
}

// nextFence returns the fence of a claim that follows one with the fence before. A restored store does not remember the claims
// that were made after its backup, so it goes on from RestoredAt, in milliseconds of Unix time: no effect has been claimed that
// often, and after a second restore the time is a later one.
func (s Settings) nextFence(before int64) int64 {
	if s.RestoredAt.IsZero() {
		return before + 1
	}
	return max(before+1, s.RestoredAt.UnixMilli())
}

var effectName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// Validate returns every problem of the settings, joined; nil if there is none.
func (s Settings) Validate() error {
	var problems []error
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"grace", s.Grace}, {"interval", s.Interval}, {"stuck-after", s.StuckAfter}, {"alert-every", s.AlertEvery},
		{"retention", s.Retention}, {"claim TTL", s.ClaimTTL},
	} {
		if d.d <= 0 {
			problems = append(problems, fmt.Errorf("%s must be longer than zero, not %v", d.name, d.d))
		}
	}
	if s.RetryFor < 0 {
		problems = append(problems, fmt.Errorf("retry-for must not be negative, but it is %v", s.RetryFor))
	}
	if s.MaxAttempts < 1 {
		problems = append(problems, fmt.Errorf("max attempts must be at least 1, not %d", s.MaxAttempts))
	}
	return errors.Join(append(problems, ValidateRules(s.Rules, s.Transitions))...)
}

// RuleTitle is how a problem calls the rule at an index of the list: by its name, or where it has none by its place.
func RuleTitle(name string, index int) string {
	if name == "" {
		return fmt.Sprintf("effect %d", index+1)
	}
	return "effect " + diag.Quote(name)
}

// ValidateRules returns every problem of the rules, joined; nil if there is none. Each begins with RuleTitle.
func ValidateRules(rules []Rule, allowed operation.Transitions) error {
	var problems []error
	for i, ofRule := range RuleProblems(rules, allowed) {
		for _, problem := range ofRule {
			problems = append(problems, fmt.Errorf("%s: %w", RuleTitle(rules[i].Name, i), problem))
		}
	}
	return errors.Join(problems...)
}

// RuleProblems returns the problems of each rule, at the rule's index, for whoever can say better than RuleTitle where it stands.
func RuleProblems(rules []Rule, allowed operation.Transitions) [][]error {
	problems := make([][]error, len(rules))
	seen := map[string]bool{}
	for i, rule := range rules {
		if rule.Name != "" && seen[rule.Name] {
			problems[i] = append(problems[i], errors.New("its name is used twice; give each effect one of its own"))
		}
		seen[rule.Name] = true
		problems[i] = append(problems[i], rule.problems(allowed)...)
	}
	return problems
}

func (r Rule) problems(allowed operation.Transitions) []error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !effectName.MatchString(r.Name) {
		add("its name must be lower-case letters, digits, - and _, beginning with a letter, at most 63")
	}
	if len(r.On) == 0 && len(r.Alerts) == 0 {
		add("it lists no state or alert to run on")
	}
	for i, state := range r.On {
		if !state.Known() {
			words := operation.States()
			for _, alert := range Alerts() {
				words = append(words, operation.State(alert))
			}
			add("%s is not a state and not an alert%s; the states are %v, the alerts %v",
				diag.Quote(string(state)), diag.DidYouMean(string(state), words), operation.States(), Alerts())
		}
		if slices.Contains(r.On[:i], state) {
			add("it lists %s twice", state)
		}
		for _, other := range r.On {
			if allowed.Allow(state, other) {
				add("an operation may go from %s to %s, but an effect runs once per operation: use two effects", state, other)
			}
		}
	}
	for i, alert := range r.Alerts {
		if !slices.Contains(Alerts(), alert) {
			add("%q is not an alert; the alerts are %v", alert, Alerts())
		}
		if slices.Contains(r.Alerts[:i], alert) {
			add("it lists %s twice", alert)
		}
		if len(r.JobKinds) > 0 && !alert.ofOperation() {
			add("%s is about no operation and so of no job kind: give it an effect without jobKinds", alert)
		}
	}
	for _, pattern := range r.JobKinds {
		if _, err := path.Match(pattern, ""); err != nil {
			add("jobKinds: %s is not a pattern such as batch-*: a [ needs its ], and a \\ something behind it", diag.Quote(pattern))
		}
	}
	return problems
}

func (r Rule) matches(rec operation.Record) bool {
	return slices.Contains(r.On, rec.State) && r.matchesKind(rec.JobKind)
}

func (r Rule) matchesKind(jobKind string) bool {
	return len(r.JobKinds) == 0 || slices.ContainsFunc(r.JobKinds, func(pattern string) bool {
		ok, err := path.Match(pattern, jobKind)
		return ok && err == nil // a malformed pattern does not get past Validate
	})
}
