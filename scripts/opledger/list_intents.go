package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/shared/ledger"
)

// listIntents prints the intents that wait for their operation [G6]. One that cannot be read is an error, after the others.
func listIntents(ctx context.Context, w io.Writer, l *ledger.Ledger, filter ledger.Filter, asJSON bool) error {
	page, err := l.OpenIntents(ctx, filter.After, filter.Limit)
	if err != nil {
		return err
	}
	broken := errors.Join(page.Broken...)
	intents := make([]ledger.Intent, len(page.Items))
	for i, item := range page.Items {
		intents[i] = item.Intent
	}
	if asJSON {
		return errors.Join(printJSON(w, map[string]any{"intents": intents, "next": formatCursor(page.Next)}), broken)
	}
	if len(intents) == 0 {
		_, err := fmt.Fprintln(w, "no intent waits for its operation")
		return errors.Join(err, broken)
	}
	now, err := l.Now(ctx)
	if err != nil {
		return err
	}
	rows := make([][]any, len(intents))
	for i, intent := range intents {
		rows[i] = []any{
			dash(intent.CorrelationID), dash(string(intent.Collection)), dash(intent.JobKind), span(now.Sub(intent.CreatedAt)), localTime(intent.DueAt),
		}
	}
	return errors.Join(printTable(w, "CORRELATION ID\tCOLLECTION\tJOB KIND\tAGE\tGIVEN UP AT", rows, page.Next), broken)
}
