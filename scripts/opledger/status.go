package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
)

// statusSettings are the settings of the functions that status needs.
type statusSettings struct {
	Passes  config.Passes
	Effects struct {
		Paused bool `env:"OPLEDGER_EFFECTS_PAUSED" envDefault:"false"`
	}
}

// A statusJSON is the overview as JSON.
type statusJSON struct {
	overview.Overview
	Paused bool `json:"paused"`
}

func newStatus(outside environment) *cobra.Command {
	var store string
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say what waits, runs and is dead, and what needs an operator",
		Long: "Says how much is pending and since when, how many effects run, which are dead and why, what is in\n" +
			"quarantine and which intents wait, and then what needs an operator, each with the command that shows\n" +
			"it. Exits with 1 if something does. Set $OPLEDGER_INTERVAL and $OPLEDGER_EFFECTS_PAUSED to the values\n" +
			"of the functions. It reads the beginning of each list, about 600 documents at most, and counts to\n" +
			"10,000.",
		Example: "  opledger status\n" +
			"  opledger status --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := config.Parse[statusSettings](outside.variables)
			if err != nil {
				return usageError{err}
			}
			l, closeStore, err := openReader(cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			s := screen{width: outside.width(false)}
			var needs error
			err = repeated(cmd.Context(), outside, watch, func(w io.Writer) error {
				needs, err = status(cmd.Context(), w, l, settings, s, outside.json)
				return err
			})
			return errors.Join(err, closeStore(), needs)
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().BoolVar(&watch, "watch", false, "read and print it again every 5 s, until interrupted")
	jsonFlag(cmd, &outside)
	return cmd
}

// status prints the overview. needs is not nil if something needs an operator.
func status(
	ctx context.Context, w io.Writer, l *ledger.Ledger, settings statusSettings, s screen, asJSON bool,
) (needs, err error) {
	o, err := overview.Read(ctx, l, overview.Options{Interval: settings.Passes.Interval, Most: 100})
	if err != nil {
		return nil, err
	}
	if len(o.Problems) > 0 {
		needs = fmt.Errorf("an operator is needed: %s", strings.Join(problemWords(o), "; "))
	}
	if asJSON {
		return needs, printJSON(w, statusJSON{o, settings.Effects.Paused})
	}
	s.now = o.At
	return needs, printStatus(w, s, o, settings.Effects.Paused)
}

func problemWords(o overview.Overview) []string {
	words := make([]string, len(o.Problems))
	for i, p := range o.Problems {
		words[i] = p.Words
	}
	return words
}

func printStatus(w io.Writer, s screen, o overview.Overview, paused bool) error {
	pending := o.Pending.Total.String()
	if o.Pending.Oldest != "" {
		pending += fmt.Sprintf(", the oldest for %s: %s", phrase.Span(o.At.Sub(o.Pending.SubmittedAt)),
			phrase.Safe(string(o.Pending.Oldest)))
	}
	effects := fmt.Sprintf("%s run, %s open", o.Effects.Running, o.Effects.Open)
	if o.Effects.Failing > 0 {
		effects += fmt.Sprintf(", %d back off after a failure", o.Effects.Failing)
	}
	if paused {
		effects += "; paused by OPLEDGER_EFFECTS_PAUSED"
	}
	out := newTable(w)
	out.line("pending", pending)
	out.line("effects", effects)
	out.line("dead", o.Dead.Total)
	out.line("quarantine", o.Unread.Total)
	out.line("intents", o.Intents.Total)
	err := errors.Join(out.end(), printFailures(w, s, o.Dead.Errors))
	if len(o.Problems) == 0 {
		_, sayErr := fmt.Fprintln(w, "\nnothing needs an operator")
		return errors.Join(err, sayErr)
	}
	rows := [][]any{{"NEEDS AN OPERATOR", "COMMAND"}}
	for _, p := range o.Problems {
		rows = append(rows, []any{p.Words, p.Command})
	}
	_, sayErr := fmt.Fprintln(w)
	return errors.Join(err, sayErr, screen{}.rows(w, rows))
}
