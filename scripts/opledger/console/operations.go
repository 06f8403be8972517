package console

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// rows is how many rows a page of a list has.
const rows = 50

// A choice is one option of a filter.
type choice struct{ Value, Label string }

// operationsPage is what operations.html shows.
type operationsPage struct {
	Filter      ledger.Filter
	State       operation.State // the one of Filter, or empty
	Show, Since string          // as chosen
	States      []operation.State
	Collections []operation.Collection
	Shows       []choice
	Sinces      []choice
	Filtered    bool
	Rows        []operation.Record
	Broken      []ledger.Broken
	Next        string // the address of the next page; empty at the end
	Empty       string // what an empty list means
}

var (
	showChoices = []choice{{"", "all, newest first"}, {"pending", "pending, by next look-up"},
		{"dead", "with a dead effect"}}
	// sinceChoices are durations, and "night": since 18:00 of the day before, in this machine's zone.
	sinceChoices = []choice{
		{"", "any time"}, {"night", "last night"}, {"24h", "the last 24 hours"}, {"72h", "the last 3 days"},
		{"168h", "the last week"},
	}
)

func loadOperations(c *Console, r *request) (any, error) {
	p := operationsPage{
		Show: r.query.Get("show"), Since: r.query.Get("since"), States: operation.States(),
		Collections: operation.Collections(), Shows: showChoices, Sinces: sinceChoices,
	}
	after, err := phrase.ParseCursor(r.query.Get("after"))
	if err != nil {
		return p, bad("after: %w", err)
	}
	p.State = operation.State(r.query.Get("state"))
	p.Filter = ledger.Filter{
		JobKind: r.query.Get("job"), Collection: operation.Collection(r.query.Get("collection")),
		Pending: p.Show == "pending", Dead: p.Show == "dead", After: after, Limit: rows,
	}
	since, err := p.check(r.now)
	if err != nil {
		return p, err
	}
	if p.State != "" {
		p.Filter.States = []operation.State{p.State}
	}
	p.Filtered = p.Filter.JobKind != "" || p.State != "" || p.Filter.Collection != "" || p.Show != "" || p.Since != ""
	p.Empty = p.emptyWords()
	page, err := c.ledger.List(r, p.Filter)
	if err != nil {
		return p, err
	}
	p.Rows, p.Broken = page.Items, page.Broken
	more := page.Next.Path != ""
	if !since.IsZero() {
		p.Rows = slices.DeleteFunc(page.Items, func(rec operation.Record) bool { return rec.CreatedAt.Before(since) })
		// The list is in the order of CreatedAt, so that what follows is older still; a pending one is not.
		more = more && (p.Filter.Pending || !page.Next.At.Before(since))
	}
	if more {
		p.Next = link("/console/operations", "state", string(p.State), "collection", string(p.Filter.Collection),
			"job", p.Filter.JobKind, "show", p.Show, "since", p.Since, "after", phrase.Cursor(page.Next))
		p.Empty = "None of those that were read matches these filters. There are more."
	}
	return p, nil
}

// check refuses what is no choice, and returns the time of Since.
func (p operationsPage) check(now time.Time) (since time.Time, err error) {
	is := func(value string) func(choice) bool { return func(c choice) bool { return c.Value == value } }
	switch {
	case p.State != "" && !p.State.Known():
		return since, bad("state: %q is not one of %s", p.State, listed(p.States))
	case p.Filter.Collection != "" && !slices.Contains(p.Collections, p.Filter.Collection):
		return since, bad("collection: %q is not one of %s", p.Filter.Collection, listed(p.Collections))
	case !matchable(p.Filter.JobKind):
		return since, bad("job kind: %q is no pattern such as nightly-*", p.Filter.JobKind)
	case !slices.ContainsFunc(showChoices, is(p.Show)):
		return since, bad("show: %q is neither pending nor dead", p.Show)
	case !slices.ContainsFunc(sinceChoices, is(p.Since)):
		return since, bad("since: %q is not one of night, 24h, 72h and 168h", p.Since)
	case p.Since == "":
		return since, nil
	case p.Since == "night":
		return lastEvening(now.Local()), nil
	}
	d, err := time.ParseDuration(p.Since)
	return now.Add(-d), err
}

// listed are words with commas between them.
func listed[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, word := range all {
		words[i] = string(word)
	}
	return strings.Join(words, ", ")
}

func matchable(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil
}

// lastEvening is 18:00 of the day before.
func lastEvening(now time.Time) time.Time {
	year, month, day := now.Date()
	return time.Date(year, month, day-1, 18, 0, 0, 0, now.Location())
}

func (p operationsPage) emptyWords() string {
	only := p.State == "" && p.Filter.Collection == "" && p.Filter.JobKind == "" && p.Since == ""
	switch {
	case p.Show == "pending" && only:
		return "No operation is waited for."
	case p.Show == "dead" && only:
		return "No effect is dead."
	case p.Filtered:
		return "No operation matches these filters."
	default:
		return "The ledger has no operations yet."
	}
}
