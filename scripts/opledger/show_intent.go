package main

import (
	"context"
	"io"

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
	out.line(safe(intent.CorrelationID), intent.State)
	out.line("  operation", safe(string(intent.Operation)))
	out.line("  bound by", safe(string(intent.BoundBy)))
	out.line("  collection", safe(string(intent.Collection)))
	out.line("  job kind", safe(intent.JobKind))
	out.line("  recorded", intent.CreatedAt)
	out.line("  renewed", intent.RenewedAt)
	out.line("  give up at", intent.GiveUpAt)
	out.line("  given up", intent.AbandonedAt)
	out.line("  next search", intent.DueAt)
	for _, kept := range intent.Names {
		out.line("  named by a delivery", safe(kept.Name)+" at "+localTime(kept.At))
	}
	out.line("  metadata", safe(string(intent.Metadata)))
	out.line("  kept until", intent.ExpireAt)
	return out.end()
}
