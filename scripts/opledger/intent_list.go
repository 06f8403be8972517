package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

func newIntentList(outside environment) *cobra.Command {
	var store string
	var from pageFlags
	var wide, watch bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the intents whose operation has not been found, in the order of their next search",
		Example: "  opledger intent list\n" +
			"  opledger intent list --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			after, err := from.parse()
			if err != nil {
				return usageError{err}
			}
			l, closeStore, err := openReader(cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			s := screen{width: outside.width(wide)}
			err = repeated(cmd.Context(), outside, watch, func(w io.Writer) error {
				return listIntents(cmd.Context(), w, l, s, after, from.limit, outside.json)
			})
			return errors.Join(err, closeStore())
		},
	}
	storeFlag(cmd, &store)
	from.add(cmd, "intents")
	watchFlag(cmd, &watch)
	wideFlag(cmd, &wide)
	jsonFlag(cmd, &outside)
	return cmd
}

// listIntents prints the intents whose operation is searched for, including those that were given
// up recently [G6].
func listIntents(
	ctx context.Context, w io.Writer, l *ledger.Ledger, s screen, after ledger.Cursor, limit int, asJSON bool,
) error {
	page, err := l.WaitingIntents(ctx, after, limit)
	if err != nil {
		return err
	}
	intents := make([]ledger.Intent, len(page.Items))
	for i, item := range page.Items {
		intents[i] = item.Intent
	}
	if asJSON {
		return printJSON(w, pageJSON("intents", intents, page.Broken, page.Next))
	}
	if len(intents)+len(page.Broken) == 0 {
		_, err := fmt.Fprintln(w, "no intent waits for its operation")
		return err
	}
	if s.now, err = l.Now(ctx); err != nil {
		return err
	}
	rows := make([][]any, len(intents))
	for i, intent := range intents {
		rows[i] = []any{
			phrase.Safe(intent.CorrelationID), intentState(intent), phrase.Safe(string(intent.Collection)),
			phrase.Safe(intent.JobKind), phrase.Span(s.now.Sub(intent.CreatedAt)), givenUpAt(intent), intent.DueAt,
		}
	}
	headings := []any{"CORRELATION ID", "STATE", "COLLECTION", "JOB KIND", "AGE", "GIVEN UP AT", "NEXT SEARCH"}
	total := func() (ledger.Total, error) { return l.CountWaitingIntents(ctx) }
	return errors.Join(
		printPage(w, s, headings, rows, page.Broken), printMore(w, len(rows)+len(page.Broken), total, page.Next),
	)
}

// intentState is the state of an intent, with the operator who abandoned it, and whether Gemini's list
// has shown that nothing was submitted.
func intentState(intent ledger.Intent) string {
	words := string(intent.State)
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
