package effect

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
	// Each is "item" where the effect runs once for each item of a batch's result [K4]. DoResults
	// with a collection does so without it.
	Each string
	// Unkeyed is "by-position" where Each performs items without a key, too: see
	// [EachOptions.ByPosition].
	Unkeyed string
	// Timeout bounds one attempt of DoHTTP and DoPubSub; 0: 30 s.
	Timeout time.Duration
	// Concurrency is how many attempts may be in flight in one process; 0: DefaultConcurrency.
	Concurrency int
}

const (
	eachItem   = "item"
	byPosition = "by-position"
)

// DefaultConcurrency is how many attempts at one effect may be in flight in one process where its
// spec does not say. A receiver that was down must not be brought down again by what has piled up.
const DefaultConcurrency = 10

// Default is what runs where the settings name no effect: every completion is logged.
func Default() []Spec {
	return []Spec{{
		Name: "log", Do: &DoLog{},
		On: []operation.State{operation.Succeeded, operation.Failed, operation.Cancelled, operation.Expired},
	}}
}

// fields are those that a spec of any kind has; name and do are read before them.
func (s *Spec) fields() []field {
	return []field{
		{"on", states(&s.On, &s.Alerts)},
		{"jobKinds", texts(&s.JobKinds)},
		{"each", text(&s.Each)},
		{"unkeyed", text(&s.Unkeyed)},
		{"timeout", duration(&s.Timeout)},
		{"concurrency", count(&s.Concurrency)},
	}
}

// check reports what is wrong with the fields of its own kind, and then with those of every kind.
func (s *Spec) check(wrong report) {
	if s.Do != nil {
		s.Do.check(*s, wrong)
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

// A fetcher is an Action that reads a batch's result, once per item or as a whole.
type fetcher interface{ perItem() bool }

// EachItem reports whether the effect runs once per item.
func (s Spec) EachItem() bool {
	fetches, ok := s.Do.(fetcher)
	return s.Each == eachItem || ok && fetches.perItem()
}

// FetchesResults reports whether the effect reads a batch's result, for which it needs Gemini.
func (s Spec) FetchesResults() bool {
	_, ok := s.Do.(fetcher)
	return ok || s.EachItem()
}

// Secrets returns the secrets that the effect's requests carry, each once.
func (s Spec) Secrets() []Source {
	if do, ok := s.Do.(*DoHTTP); ok {
		return do.Secrets.All()
	}
	return nil
}

// Rules returns when the ledger plans each effect.
func Rules(specs []Spec) []ledger.Rule {
	rules := make([]ledger.Rule, len(specs))
	for i, s := range specs {
		rules[i] = ledger.Rule{Name: s.Name, On: s.On, Alerts: s.Alerts, JobKinds: s.JobKinds}
	}
	return rules
}

// Concurrency returns how many of each effect may be in flight in one process, by name.
func Concurrency(specs []Spec) map[string]int {
	most := make(map[string]int, len(specs))
	for _, s := range specs {
		most[s.Name] = cmp.Or(s.Concurrency, DefaultConcurrency)
	}
	return most
}
