package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// listIntents prints the intents whose operation is searched for, including those that were given
// up recently [G6].
func (q listing) intentsTo(ctx context.Context, w io.Writer, l *ledger.Ledger) error {
	page, err := l.WaitingIntents(ctx, q.filter.After, q.filter.Limit)
	if err != nil {
		return err
	}
	intents := make([]ledger.Intent, len(page.Items))
	for i, item := range page.Items {
		intents[i] = item.Intent
	}
	if q.asJSON {
		return printJSON(w, pageJSON("intents", intents, page.Broken, page.Next))
	}
	if len(intents)+len(page.Broken) == 0 {
		_, err := fmt.Fprintln(w, "no intent waits for its operation")
		return err
	}
	s := screen{width: q.width}
	if s.now, err = l.Now(ctx); err != nil {
		return err
	}
	rows := make([][]any, len(intents))
	for i, intent := range intents {
		rows[i] = []any{
			phrase.Safe(intent.CorrelationID), intent.State, phrase.Safe(string(intent.Collection)), phrase.Safe(intent.JobKind),
			phrase.Span(s.now.Sub(intent.CreatedAt)), givenUpAt(intent), intent.DueAt,
		}
	}
	headings := []any{"CORRELATION ID", "STATE", "COLLECTION", "JOB KIND", "AGE", "GIVEN UP AT", "NEXT SEARCH"}
	total := func() (ledger.Total, error) { return l.CountWaitingIntents(ctx) }
	return errors.Join(
		printPage(w, s, headings, rows, page.Broken), printMore(w, len(rows)+len(page.Broken), total, page.Next),
	)
}

// givenUpAt is when the intent was given up, or will be if no operation is found.
func givenUpAt(intent ledger.Intent) time.Time {
	if intent.AbandonedAt.IsZero() {
		return intent.GiveUpAt
	}
	return intent.AbandonedAt
}
