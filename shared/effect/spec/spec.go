// Package spec reads the settings of effects, OPLEDGER_EFFECTS: [Parse] reads a list of entries, each a
// [Spec] with the [Action] of its kind, and reports every mistake at once.
package spec

import (
	"cmp"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Spec is one entry of the effects in the settings: when an effect is planned, and what it does.
type Spec struct {
	Name string
	On   []operation.State
	// Alerts are listed among the states of on in the settings.
	Alerts   []ledger.Alert
	JobKinds []string
	// Do is what the effect does, with the fields that only its kind has.
	Do Action
	// Each is "item" where the effect runs once for each item of a batch's result [K4]. results with a
	// collection does so without it.
	Each string
	// Unkeyed is "by-position" where Each performs items without a key, too: see
	// items.Options.ByPosition.
	Unkeyed string
	// Timeout bounds one attempt of http and pubsub; 0: DefaultTimeout.
	Timeout time.Duration
	// Concurrency is how many attempts may be in flight in one process; 0: DefaultConcurrency.
	Concurrency int
}

const (
	eachItem   = "item"
	byPosition = "by-position"
)

// DefaultTimeout bounds an attempt whose spec has no timeout.
const DefaultTimeout = 30 * time.Second

// DefaultConcurrency is how many attempts at one effect may be in flight in one process where its
// spec does not say. A receiver that was down must not be brought down again by what has piled up.
const DefaultConcurrency = 10

// fields are those that a spec of any kind has; name and do are read before them.
func (s *Spec) fields() []Field {
	return []Field{
		states("on", &s.On, &s.Alerts), texts("jobKinds", &s.JobKinds), Text("each", &s.Each), Text("unkeyed", &s.Unkeyed),
		duration("timeout", &s.Timeout), count("concurrency", &s.Concurrency),
	}
}

// check reports what is wrong with the fields of its own kind, and then with those of every kind.
func (s *Spec) check(wrong Report) {
	if s.Do != nil {
		s.Do.Check(*s, wrong)
	}
	if s.Each != "" && s.Each != eachItem {
		wrong("each", "each must be item, for once per item of a batch's result, or be left out, not %s", diag.Quote(s.Each))
	}
	switch {
	case s.Unkeyed == "":
	case s.Unkeyed != byPosition:
		wrong("unkeyed", "unkeyed must be by-position, or be left out, not %s", diag.Quote(s.Unkeyed))
	case !s.EachItem():
		wrong("unkeyed", "unkeyed is for effects that run once per item; remove it")
	}
	if s.FetchesResults() && (len(s.Alerts) > 0 || !slices.Equal(s.On, []operation.State{operation.Succeeded})) {
		wrong("on", "only a batch that succeeded has items: on must be [SUCCEEDED]")
	}
	if s.Timeout < 0 {
		wrong("timeout", "timeout must not be below zero")
	}
}

// EachItem reports whether the effect runs once per item.
func (s Spec) EachItem() bool {
	fetches, ok := s.Do.(Fetcher)
	return s.Each == eachItem || ok && fetches.PerItem()
}

// FetchesResults reports whether the effect reads a batch's result, for which it needs Gemini.
func (s Spec) FetchesResults() bool {
	_, ok := s.Do.(Fetcher)
	return ok || s.EachItem()
}

// ByPosition reports whether the effect is performed also for items without a key.
func (s Spec) ByPosition() bool { return s.Unkeyed == byPosition }

// Rules returns when the ledger plans each effect.
func Rules(specs []Spec) []ledger.Rule {
	rules := make([]ledger.Rule, len(specs))
	for i, s := range specs {
		rules[i] = ledger.Rule{Name: s.Name, On: s.On, Alerts: s.Alerts, JobKinds: s.JobKinds}
	}
	return rules
}

// Receivers returns who gets an effect, a host, by the effect's name: of each whose settings say it. A URL in a
// secret does not.
func Receivers(specs []Spec) map[string]string {
	hosts := map[string]string{}
	for _, s := range specs {
		if to, ok := s.Do.(interface{ Receiver() string }); ok && to.Receiver() != "" {
			hosts[s.Name] = to.Receiver()
		}
	}
	return hosts
}

// Concurrency returns how many of each effect may be in flight in one process, by name.
func Concurrency(specs []Spec) map[string]int {
	most := make(map[string]int, len(specs))
	for _, s := range specs {
		most[s.Name] = cmp.Or(s.Concurrency, DefaultConcurrency)
	}
	return most
}
