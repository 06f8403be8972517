package decision

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
)

// Found are what a selection of several finds.
type Found struct {
	decisions []foundDecision
	Broken    []ledger.Broken // documents that cannot be read
}

// A foundDecision records the decision about one of them.
type foundDecision struct {
	name   string
	record func(ledger.Decision) (asJSON any, words string, err error)
}

// Add adds one, and how the decision about it is recorded.
func (f *Found) Add(name string, record func(ledger.Decision) (any, string, error)) {
	f.decisions = append(f.decisions, foundDecision{name, record})
}

// names names the first of them.
func (f *Found) names() string {
	const most = 10
	var names []string
	for _, d := range f.decisions[:min(len(f.decisions), most)] {
		names = append(names, d.name)
	}
	if more := len(f.decisions) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// DecideAll asks, then decides about all that find returns, and prints each decision that stands. what
// names one of them. The error joins those of all that could not be decided.
func (d *Decider) DecideAll(
	ctx context.Context, what string, find func(context.Context, *actions.Actions) (Found, error),
) error {
	return d.deciding(ctx, func(a *actions.Actions) error {
		found, err := find(ctx, a)
		if err != nil {
			return err
		}
		for _, b := range found.Broken {
			d.Outside.Note("%s %s", phrase.Safe(string(b.Path)), phrase.Broken(b))
		}
		if len(found.decisions) > 0 {
			question := fmt.Sprintf("Resolve %s: %s?", phrase.Counted(len(found.decisions), what), found.names())
			if err := terminal.Agree(ctx, d.Outside, question, "nothing was resolved"); err != nil {
				return err
			}
		}
		return d.record(ctx, found.decisions)
	})
}

// record records decisions until ctx ends.
func (d *Decider) record(ctx context.Context, decisions []foundDecision) error {
	decided := []any{}
	var problems []error
	for _, one := range decisions {
		if ctx.Err() != nil {
			problems = append(problems, fmt.Errorf("%d of %d resolved, then: %w; the same command goes on", len(decided),
				len(decisions), terminal.ErrInterrupted))
			break
		}
		asJSON, words, err := one.record(d.Decision)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", one.name, open.WithRemedy(err)))
			continue
		}
		decided = append(decided, asJSON)
		if !d.Outside.JSON {
			_, err = fmt.Fprintln(d.Outside.Out, words)
			problems = append(problems, err)
		}
	}
	var err error
	if d.Outside.JSON {
		err = terminal.PrintJSON(d.Outside.Out, map[string]any{"resolved": decided})
	} else {
		_, err = fmt.Fprintf(d.Outside.Out, "resolved %d of %d\n", len(decided), len(decisions))
	}
	return errors.Join(append(problems, err)...)
}
