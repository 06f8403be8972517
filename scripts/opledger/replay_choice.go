package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A replayChoice says which effects to run again.
type replayChoice struct {
	name   operation.Name // one operation; the zero Name: those that the filter finds
	effect string
	dead   bool
	anew   bool

	state, collection, jobKind, since string // as typed
	filter                            ledger.Filter
	after                             time.Time // only what ended later
}

func (c *replayChoice) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.effect, "effect", "", "only this effect, with its runs; or this one run")
	cmd.Flags().BoolVar(&c.dead, "dead", false, "only effects that are dead")
	cmd.Flags().StringVar(&c.state, "state", "", "only operations in this state, such as FAILED")
	cmd.Flags().StringVar(&c.collection, "collection", "", "only operations of this collection, such as batches")
	cmd.Flags().StringVar(&c.jobKind, "job-kind", "", "only operations of this job kind, a pattern such as 'nightly-*'")
	cmd.Flags().StringVar(&c.since, "since", "", "only operations that ended since then: 24h ago, or a time such as 2026-11-21T02:00:00Z")
}

// parse checks what was typed. The error joins every problem.
func (c *replayChoice) parse(args []string, now time.Time) error {
	var problems []error
	filtered := c.state != "" || c.collection != "" || c.jobKind != "" || c.since != ""
	switch {
	case len(args) == 1 && filtered:
		problems = append(problems, errors.New("name an operation, or choose some with --state, --collection, --job-kind or --since: not both"))
	case len(args) == 1:
		var err error
		c.name, err = operation.ParseName(args[0], "")
		problems = append(problems, err)
	case !filtered && !c.dead:
		problems = append(problems, errors.New("name an operation, or choose some with --dead, --state, --collection, --job-kind or --since"))
	}
	var err error
	c.filter, err = parseFilter(ledger.Filter{Dead: c.dead, Limit: 500}, c.state, c.collection, "")
	problems = append(problems, err)
	if _, err := path.Match(c.jobKind, ""); err != nil {
		problems = append(problems, fmt.Errorf("--job-kind: %w", err))
	}
	if c.since != "" {
		ago, agoErr := time.ParseDuration(c.since)
		at, atErr := time.Parse(time.RFC3339, c.since)
		switch {
		case agoErr == nil:
			c.after = now.Add(-ago)
		case atErr == nil:
			c.after = at
		default:
			problems = append(problems, fmt.Errorf("--since: %q is neither a duration such as 24h nor a time such as 2026-11-21T02:00:00Z", c.since))
		}
	}
	if c.anew && strings.Contains(c.effect, "@") {
		problems = append(problems, fmt.Errorf("--effect: %q is itself one run; with --anew name the effect %q", c.effect, ledger.RuleOf(c.effect)))
	}
	return errors.Join(problems...)
}

// A replayLine is one effect that is to be run again.
type replayLine struct {
	Operation operation.Key          `json:"operation"`
	Effect    string                 `json:"effect"`
	Status    operation.EffectStatus `json:"status"` // before; after, once it was handed over in this process
	// Of what was handed over in this process: whether an attempt was made, and whether no handler is known here.
	ran, unknown bool
}

// unplanned is the status of an effect that no rule asked for when the operation came into its state.
const unplanned operation.EffectStatus = "never planned"

// choose reads the ledger and returns the effects that are to be run again, operations newest first, and what it left alone.
func (c replayChoice) choose(ctx context.Context, l *ledger.Ledger) (lines []replayLine, broken []ledger.Broken, err error) {
	if c.name.Key != "" {
		lines, err = c.ofOne(ctx, l)
		return lines, nil, err
	}
	for filter := c.filter; ; {
		page, err := l.List(ctx, filter)
		if err != nil {
			return nil, nil, err
		}
		broken = append(broken, page.Broken...)
		for _, rec := range page.Items {
			if c.matches(rec) {
				lines = append(lines, c.lines(rec)...)
			}
		}
		if filter.After = page.Next; page.Next.Path == "" {
			return lines, broken, nil
		}
	}
}

func (c replayChoice) matches(rec operation.Record) bool {
	ok, err := path.Match(c.jobKind, rec.JobKind)
	return (c.jobKind == "" || ok && err == nil) && (c.after.IsZero() || rec.SettledAt.After(c.after))
}

// ofOne is choose for the one operation that was named.
func (c replayChoice) ofOne(ctx context.Context, l *ledger.Ledger) ([]replayLine, error) {
	key, err := named{c.name}.key(ctx, l)
	if err != nil {
		return nil, err
	}
	rec, err := recordOf(ctx, l, key)
	if err != nil {
		return nil, whereToLook(err)
	}
	_, planned := rec.Effects[c.effect]
	switch {
	case c.effect == "" || planned || c.dead:
		return c.lines(rec), nil
	case c.anew || strings.Contains(c.effect, "@"):
		return nil, noEffect(rec, c.effect, "")
	case !rec.Registered:
		return nil, fmt.Errorf("%s: %w", rec.Key, ledger.ErrUnregistered)
	case !rec.Settled():
		return nil, fmt.Errorf("%s is %s; its effects are planned when it ends", rec.Key, rec.State)
	}
	return []replayLine{{Operation: rec.Key, Effect: c.effect, Status: unplanned}}, nil
}

// recordOf returns the record of an operation. Of what is no operation, and has alerts all the same, it makes one.
func recordOf(ctx context.Context, l *ledger.Ledger, key operation.Key) (operation.Record, error) {
	rec, err := l.Record(ctx, key)
	if !errors.Is(err, ledger.ErrNotFound) {
		return rec, err
	}
	story, err := l.Show(ctx, key)
	rec.Key = key
	for _, effect := range story.Effects {
		rec = rec.WithEffect(effect.Name, effect.Status())
	}
	return rec, err
}

// lines returns those of an operation's effects that are to be run again: what is open or dead,
// what is waived or withheld only where it was named, what is done only anew. A run that somebody
// asked for is not itself run anew.
func (c replayChoice) lines(rec operation.Record) []replayLine {
	var lines []replayLine
	for _, name := range slices.Sorted(maps.Keys(rec.Effects)) {
		status := rec.Effects[name]
		named := name == c.effect || ledger.RuleOf(name) == c.effect
		switch {
		case c.effect != "" && !named, c.dead && status != operation.EffectDead:
		case c.anew && ledger.RuleOf(name) != name:
		case status == operation.EffectWithheld && name != c.effect:
		case !c.anew && (status == operation.EffectDone || status == operation.EffectWaived && name != c.effect):
		default:
			lines = append(lines, replayLine{Operation: rec.Key, Effect: name, Status: status})
		}
	}
	return lines
}
