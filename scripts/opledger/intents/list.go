package intents

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
)

func newList(outside terminal.Environment) *cobra.Command {
	var from terminal.PageFlags
	var wide, watch bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the intents whose operation has not been found, in the order of their next search",
		Example: "  opledger intent list\n" +
			"  opledger intent list --json",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			after, err := from.Parse()
			if err != nil {
				return terminal.Usage(err)
			}
			s := terminal.Screen{Width: outside.Width(wide)}
			return open.Reader(cmd.Context(), outside, func(l *ledger.Ledger) error {
				return terminal.Repeated(cmd.Context(), outside, watch, func(w io.Writer) error {
					return listIntents(cmd.Context(), w, l, s, after, from.Limit, outside.JSON)
				})
			})
		},
	}
	open.LedgerFlags(cmd, &outside)
	from.Add(cmd, "intents")
	terminal.WatchFlag(cmd, &watch)
	terminal.WideFlag(cmd, &wide)
	return cmd
}

// listIntents prints the intents whose operation is searched for, including those that were given
// up recently [G6].
func listIntents(
	ctx context.Context, w io.Writer, l *ledger.Ledger, s terminal.Screen, after ledger.Cursor, limit int, asJSON bool,
) error {
	page, err := l.Intents.Waiting(ctx, after, limit)
	if err != nil {
		return err
	}
	if asJSON {
		intents := make([]ledger.Intent, len(page.Items))
		for i, item := range page.Items {
			intents[i] = item.Intent
		}
		return terminal.PrintJSON(w, terminal.PageJSON("intents", intents, page.Broken, page.Next))
	}
	if s.Now, err = l.Now(ctx); err != nil {
		return err
	}
	headings := []any{"CORRELATION ID", "STATE", "COLLECTION", "JOB KIND", "AGE", "GIVEN UP AT", "NEXT SEARCH"}
	row := func(d ledger.DueIntent) []any {
		intent := d.Intent
		return []any{
			phrase.Safe(intent.CorrelationID), intentState(intent), phrase.Safe(string(intent.Collection)),
			phrase.Safe(intent.JobKind), phrase.Span(s.Now.Sub(intent.CreatedAt)), givenUpAt(intent), intent.DueAt,
		}
	}
	total := func() (ledger.Total, error) { return l.Intents.CountWaiting(ctx) }
	return errors.Join(
		terminal.PrintPage(w, s, page, "no intent waits for its operation", headings, row),
		terminal.PrintMore(w, page, total),
	)
}

// intentState is the state of an intent, with the operator who abandoned it, and whether Gemini's list
// has shown that nothing was submitted.
func intentState(intent ledger.Intent) string {
	words := phrase.IntentState(intent)
	if decision, ok := intent.Decision(); ok {
		words += " by " + phrase.Safe(decision.By)
	}
	if !intent.Unlisted().IsZero() {
		words += ", may be submitted again"
	}
	return words
}

// givenUpAt is when the intent was given up, or will be if no operation is found.
func givenUpAt(intent ledger.Intent) time.Time {
	if intent.AbandonedAt.IsZero() {
		return intent.GiveUpAt
	}
	return intent.AbandonedAt
}
