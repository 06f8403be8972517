package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// listIntents prints the intents whose operation is searched for, including those that were given
// up recently [G6].
func listIntents(ctx context.Context, w io.Writer, l *ledger.Ledger, filter ledger.Filter, asJSON bool) error {
	page, err := l.WaitingIntents(ctx, filter.After, filter.Limit)
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
	now, err := l.Now(ctx)
	if err != nil {
		return err
	}
	rows := make([][]any, len(intents))
	for i, intent := range intents {
		rows[i] = []any{
			phrase.Safe(intent.CorrelationID), intent.State, phrase.Safe(string(intent.Collection)), phrase.Safe(intent.JobKind),
			phrase.Span(now.Sub(intent.CreatedAt)), givenUpAt(intent), intent.DueAt,
		}
	}
	headings := []any{"CORRELATION ID", "STATE", "COLLECTION", "JOB KIND", "AGE", "GIVEN UP AT", "NEXT SEARCH"}
	return printPage(w, headings, rows, page.Broken, page.Next)
}

// givenUpAt is when the intent was given up, or will be if no operation is found.
func givenUpAt(intent ledger.Intent) time.Time {
	if intent.AbandonedAt.IsZero() {
		return intent.GiveUpAt
	}
	return intent.AbandonedAt
}
