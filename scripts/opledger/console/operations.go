package console

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// rows is how many rows a page of a list has. With a count, which costs ten reads at most, no page
// costs more than 60 on Firestore.
const rows = 45

// A choice is one option of a filter.
type choice struct{ Value, Label string }

// operationsPage is what operations.html shows.
type operationsPage struct {
	Filter      ledger.Filter
	State       operation.State // the one of Filter, or empty
	Show, Since string          // as chosen
	Without     string          // the effect that the operations ended without; empty: any
	States      []operation.State
	Collections []operation.Collection
	Shows       []choice
	Sinces      []choice
	Filtered    bool
	Rows        []operation.Record
	Broken      []ledger.Broken
	pager
	Empty    string             // what an empty list means
	Total    string             // how many the filter finds in all; empty: no index counts them
	First    []operation.Record // what needs attention, of the first page without a filter
	ForAll   *bulkCommand       // what can be done to all that the filter finds
	Remedies []remedy           // what can be done to one or all of them
	Store    string             // what commands end with
}

// A bulkCommand is what can be done to all that a filter finds.
type bulkCommand struct {
	command
	Note string
}

// firstRows is how many operations that need attention the first page begins with, of each kind.
const firstRows = 5

var (
	showChoices = []choice{
		{"", "all, newest first"}, {"pending", "pending, by next look-up"},
		{"age", "pending, the oldest first"}, {"late", "pending too long, by age"}, {"dead", "with a dead effect"},
		{"conflict", "ended in two ways"}, {"unregistered", "not registered"},
	}
	// sinceChoices are durations, and "night": since 18:00 of the day before, in this machine's zone.
	sinceChoices = []choice{
		{"", "any time"}, {"night", "last night"}, {"24h", "the last 24 hours"}, {"72h", "the last 3 days"},
		{"168h", "the last week"},
	}
)

// chosen is the page with its filter, and nothing read yet.
func chosen(query url.Values, now time.Time) (p operationsPage, err error) {
	p = operationsPage{
		Show: query.Get("show"), Since: query.Get("since"), Without: query.Get("without"), States: operation.States(),
		Collections: append(operation.Collections(), operation.Jobs), Shows: showChoices, Sinces: sinceChoices,
	}
	after, err := phrase.ParseCursor(query.Get("after"))
	if err != nil {
		return p, bad("after: %w", err)
	}
	p.State = operation.State(query.Get("state"))
	p.Filter = ledger.Filter{
		Prefix: query.Get("find"), JobKind: query.Get("job"), Collection: operation.Collection(query.Get("collection")),
		Pending: p.Show == "pending", Dead: p.Show == "dead", Conflict: p.Show == "conflict", After: after, Limit: rows,
	}
	switch p.Show {
	case "late":
		p.Filter.Late = now
	case "age":
		p.Filter.Late = now.Add(overview.Ever)
	case "unregistered":
		p.Filter.Unregistered = now
	}
	if p.State != "" {
		p.Filter.States = []operation.State{p.State}
	}
	p.Filter.Without.Rule.Name = p.Without // readWithout knows the rest
	p.Filter.Since, err = p.check(now)
	return p, err
}

// Waits reports whether the page lists what has not ended, with why that is.
func (p operationsPage) Waits() bool {
	return p.Show == "pending" || p.Show == "age" || p.Show == "late"
}

// counted reports whether an index counts all that the page's filter finds. To read any other page
// again and again may cost thousands of documents each time.
func counted(query url.Values) bool {
	p, err := chosen(query, time.Now())
	return err == nil && p.Filter.Counted()
}

func loadOperations(c *Console, r *request) (any, error) {
	p, err := chosen(r.query, r.now)
	if err != nil {
		return p, err
	}
	p.Filtered = p.Filter.Prefix != "" || p.Filter.JobKind != "" || p.State != "" || p.Filter.Collection != "" ||
		p.Show != "" || p.Since != "" || p.Without != ""
	p.Empty = p.emptyWords()
	if err := p.readWithout(c, r); err != nil {
		return p, err
	}
	page, err := c.ledger.Operations.List(r, p.Filter)
	if err != nil {
		return p, err
	}
	p.Rows, p.Broken = page.Items, page.Broken
	p.pager = r.pager(operationsPath, page.Next, "state", string(p.State), "collection", string(p.Filter.Collection),
		"job", p.Filter.JobKind, "show", p.Show, "since", p.Since, "find", p.Filter.Prefix, "without", p.Without)
	if page.Next.Path != "" {
		p.Empty = "None of those that were read matches these filters. There are more."
	}
	p.Store = c.view(r).StoreFlag()
	p.advise(c.view(r), r.now)
	p.adviseWithout(c, r)
	return p, errors.Join(p.count(c, r), p.first(c, r), p.searched(c, r))
}

// searched says why a search that found nothing may have missed a delivery.
func (p *operationsPage) searched(c *Console, r *request) error {
	text := r.query.Get("q")
	if text == "" || p.Filter.Prefix == "" || len(p.Rows) > 0 {
		return nil
	}
	if _, err := c.ledger.Operations.FindDelivery(r, text); err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return fmt.Errorf("deliveries could not be searched: %w", err)
	}
	return nil
}

// count counts what the filter finds, where an index can. To count all operations, or all pending ones by age,
// costs more than it tells.
func (p *operationsPage) count(c *Console, r *request) error {
	if !p.Filtered || !p.Filter.Counted() || p.Show == "age" {
		return nil
	}
	total, err := c.ledger.Operations.Count(r, p.Filter)
	p.Total = total.String()
	return err
}

// first puts what needs attention before the first page of all operations.
func (p *operationsPage) first(c *Console, r *request) error {
	if p.Filtered || p.Filter.After.Path != "" {
		return nil
	}
	for _, filter := range []ledger.Filter{
		{Dead: true, Limit: firstRows},
		{Conflict: true, Since: r.now.Add(-overview.ConflictsFor), Limit: firstRows},
		{Late: r.now, Limit: firstRows},
	} {
		page, err := c.ledger.Operations.List(r, filter)
		if err != nil {
			return err
		}
		for _, rec := range page.Items {
			same := func(other operation.Record) bool { return other.Key == rec.Key }
			if !slices.ContainsFunc(p.First, same) {
				p.First, p.Rows = append(p.First, rec), slices.DeleteFunc(p.Rows, same)
			}
		}
	}
	return nil
}

// check refuses what is no choice, and returns the time of Since.
func (p operationsPage) check(now time.Time) (since time.Time, err error) {
	is := func(value string) func(choice) bool { return func(c choice) bool { return c.Value == value } }
	switch {
	case p.State != "" && !p.State.Known():
		return since, bad("state: %q is not one of %s", p.State, strings.Join(diag.Texts(p.States), ", "))
	case p.Filter.Collection != "" && !slices.Contains(p.Collections, p.Filter.Collection):
		return since, bad("collection: %q is not one of %s", p.Filter.Collection,
			strings.Join(diag.Texts(p.Collections), ", "))
	case !matchable(p.Filter.JobKind):
		return since, bad("job kind: %q is no pattern such as nightly-*", p.Filter.JobKind)
	case !slices.ContainsFunc(showChoices, is(p.Show)):
		return since, bad("show: %q is none of pending, age, late, dead, conflict and unregistered", p.Show)
	case p.Show != "" && p.Without != "":
		return since, bad("show and without: choose one of them")
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
	case p.Filter.Prefix != "":
		return "No operation has that name, and none has an id or a correlation id that begins with it. " +
			"A delivery is found by its whole id, until OPLEDGER_RETENTION has passed since it arrived."
	case (p.Show == "pending" || p.Show == "age") && only:
		return "No operation is waited for."
	case p.Show == "late" && only:
		return "No operation is pending for too long."
	case p.Show == "unregistered" && only:
		return "No event is of an operation that is not registered."
	case p.Show == "dead" && only:
		return "No effect is dead."
	case p.Without != "" && only:
		return "No operation ended without the effect " + p.Without + "."
	case p.Show == "conflict" && only:
		return "No conflict waits for an operator."
	case p.Filtered:
		return "No operation matches these filters."
	default:
		return "The ledger has no operations yet."
	}
}
