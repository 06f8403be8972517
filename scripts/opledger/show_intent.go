package main

import (
	"context"
	"io"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// showIntent prints the intent of a correlation id [G6].
func showIntent(ctx context.Context, w io.Writer, l *ledger.Ledger, id string, asJSON bool) error {
	intent, err := l.Intent(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(w, intent)
	}
	out := newTable(w)
	out.line(phrase.Safe(intent.CorrelationID), intent.State)
	out.line("  operation", phrase.Safe(string(intent.Operation)))
	out.line("  bound by", phrase.Safe(string(intent.BoundBy)))
	out.line("  collection", phrase.Safe(string(intent.Collection)))
	out.line("  job kind", phrase.Safe(intent.JobKind))
	out.line("  recorded", intent.CreatedAt)
	out.line("  renewed", intent.RenewedAt)
	out.line("  give up at", intent.GiveUpAt)
	out.line("  given up", intent.AbandonedAt)
	out.line("  next search", intent.DueAt)
	for _, kept := range intent.Names {
		out.line("  named by a delivery", phrase.Safe(kept.Name)+" at "+phrase.LocalTime(kept.At))
	}
	out.line("  metadata", phrase.Safe(string(intent.Metadata)))
	out.line("  kept until", intent.ExpireAt)
	return out.end()
}
