package ledger

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// A Rule plans one side effect: for operations that reach one of the states, and whose job kind
// matches. For each of its alerts it plans one more, under a name of its own.
type Rule struct {
	// Name is the effect's name. It is part of keys and document ids, so it must not change while
	// effects are open.
	Name   string            `json:"name" firestore:"name"`
	On     []operation.State `json:"on,omitempty" firestore:"on,omitempty"`
	Alerts []Alert           `json:"alerts,omitempty" firestore:"alerts,omitempty"`
	// JobKinds are glob patterns as in path.Match; none matches every job kind.
	JobKinds []string `json:"jobKinds,omitempty" firestore:"jobKinds,omitempty"`
}

var effectName = diag.Pattern(`^[a-z][a-z0-9_-]*$`)

const maxEffectName = 63 // bytes

// RuleTitle names the rule at an index of the list in a problem: by its name, or by its position
// where it has none.
func RuleTitle(name string, index int) string {
	if name == "" {
		return fmt.Sprintf("effect %d", index+1)
	}
	return "effect " + diag.Quote(name)
}

// ValidateRules returns every problem of the rules, joined; nil if there is none. Each begins with
// RuleTitle.
func ValidateRules(rules []Rule, allowed operation.Transitions) error {
	var p diag.Problems
	for i, ofRule := range RuleProblems(rules, allowed) {
		p.Of(RuleTitle(rules[i].Name, i), errors.Join(ofRule...))
	}
	return errors.Join(p...)
}

// RuleProblems returns the problems of each rule, at the rule's index, for a caller that knows
// where the rule is written.
func RuleProblems(rules []Rule, allowed operation.Transitions) [][]error {
	problems := make([][]error, len(rules))
	seen := map[string]bool{}
	for i, rule := range rules {
		var p diag.Problems
		p.When(rule.Name != "" && seen[rule.Name], "its name is used twice; give each effect one of its own")
		seen[rule.Name] = true
		problems[i] = append(p, rule.problems(allowed)...)
	}
	return problems
}

func (r Rule) problems(allowed operation.Transitions) []error {
	var p diag.Problems
	p.When(!effectName().MatchString(r.Name) || len(r.Name) > maxEffectName,
		"its name must be lower-case letters, digits, - and _, beginning with a letter, at most 63")
	p.When(strings.HasPrefix(r.Name, "job-"),
		"names that begin with job- belong to the steps of jobs; give it another one")
	p.When(len(r.On) == 0 && len(r.Alerts) == 0, "it lists no state or alert to run on")
	words := operation.States()
	for _, alert := range Alerts() {
		words = append(words, operation.State(alert))
	}
	for i, state := range r.On {
		p.When(!state.Known(), "%s is neither a state nor an alert: it must be %s%s",
			diag.Quote(string(state)), diag.OneOf(words), diag.DidYouMean(string(state), words))
		p.When(slices.Contains(r.On[:i], state), "it lists %s twice", state)
		for _, other := range r.On {
			p.When(allowed.Allow(state, other),
				"an operation may go from %s to %s, but an effect runs once per operation: use two effects", state, other)
		}
	}
	for i, alert := range r.Alerts {
		p.When(!slices.Contains(Alerts(), alert), "%q is not an alert: it must be %s", alert, diag.OneOf(Alerts()))
		p.When(slices.Contains(r.Alerts[:i], alert), "it lists %s twice", alert)
		p.When(len(r.JobKinds) > 0 && !alert.ofOperation(),
			"%s is about no operation and so of no job kind: give it an effect without jobKinds", alert)
	}
	for _, pattern := range r.JobKinds {
		_, err := path.Match(pattern, "")
		p.When(err != nil, "jobKinds: %s is not a pattern such as batch-*: a [ needs its ], and a \\ a character after it",
			diag.Quote(pattern))
	}
	return p
}

// RuleNames returns the names of rules, in their order.
func RuleNames(rules []Rule) []string {
	names := make([]string, len(rules))
	for i, rule := range rules {
		names[i] = rule.Name
	}
	return names
}

// Matches reports whether the rule plans its effect for an operation in the state of rec.
func (r Rule) Matches(rec operation.Record) bool {
	return slices.Contains(r.On, rec.State) && r.matchesKind(rec.JobKind)
}

func (r Rule) matchesKind(jobKind string) bool {
	return len(r.JobKinds) == 0 || slices.ContainsFunc(r.JobKinds, func(pattern string) bool {
		ok, err := path.Match(pattern, jobKind)
		return ok && err == nil // Validate refuses malformed patterns
	})
}
