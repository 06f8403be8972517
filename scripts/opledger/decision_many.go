package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// A manyDecider is a decider that can also decide about all that its flags select.
type manyDecider struct {
	decider
	yes bool
}

func (m *manyDecider) flags(cmd *cobra.Command) {
	m.decider.flags(cmd)
	cmd.Flags().BoolVar(&m.yes, "yes", false, "do not ask")
}

// foundDecisions are what a selection of several finds.
type foundDecisions struct {
	decisions []foundDecision
	broken    []ledger.Broken // documents that cannot be read
}

// A foundDecision records the decision about one of them.
type foundDecision struct {
	name   string
	record func(ledger.Abandonment) (asJSON any, words string, err error)
}

func (f *foundDecisions) add(name string, record func(ledger.Abandonment) (any, string, error)) {
	f.decisions = append(f.decisions, foundDecision{name, record})
}

// decideAll asks, then decides about all that find returns, and prints each decision that stands. what
// names one of them. The error joins those of all that could not be decided.
func (m *manyDecider) decideAll(
	ctx context.Context, what string, find func(context.Context, *actions.Actions) (foundDecisions, error),
) error {
	return m.deciding(ctx, func(a *actions.Actions) error {
		found, err := find(ctx, a)
		if err != nil {
			return err
		}
		for _, b := range found.broken {
			m.outside.note("%s %s", phrase.Safe(string(b.Path)), phrase.Broken(b))
		}
		if len(found.decisions) > 0 && !m.yes {
			question := fmt.Sprintf("Resolve %s?", phrase.Counted(len(found.decisions), what))
			if err := agree(ctx, m.outside, question, "nothing was resolved"); err != nil {
				return err
			}
		}
		return m.record(ctx, found.decisions)
	})
}

// record records decisions until ctx ends.
func (m *manyDecider) record(ctx context.Context, decisions []foundDecision) error {
	decided := []any{}
	var problems []error
	for _, d := range decisions {
		if ctx.Err() != nil {
			problems = append(problems, fmt.Errorf("%d of %d resolved, then: %w; the same command goes on", len(decided),
				len(decisions), errInterrupted))
			break
		}
		asJSON, words, err := d.record(m.Abandonment)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", d.name, withRemedy(err)))
			continue
		}
		decided = append(decided, asJSON)
		if !m.outside.json {
			_, err = fmt.Fprintln(m.outside.out, words)
			problems = append(problems, err)
		}
	}
	var err error
	if m.outside.json {
		err = printJSON(m.outside.out, map[string]any{"resolved": decided})
	} else {
		_, err = fmt.Fprintf(m.outside.out, "resolved %d of %d\n", len(decided), len(decisions))
	}
	return errors.Join(append(problems, err)...)
}
