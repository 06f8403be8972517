package main

import (
	"context"
	"io"

	"github.com/opledger/opledger/shared/ledger"
)

// showIntent tells what is known of a correlation id [G6].
func showIntent(ctx context.Context, w io.Writer, l *ledger.Ledger, id string, asJSON bool) error {
	intent, err := l.Intent(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(w, intent)
	}
	out := newSheet(w)
	out.line(dash(intent.CorrelationID), intent.State)
	out.line("  operation", dash(string(intent.Operation)))
	out.line("  bound by", dash(string(intent.BoundBy)))
	out.line("  collection", dash(string(intent.Collection)))
	out.line("  job kind", dash(intent.JobKind))
	out.line("  recorded", intent.CreatedAt)
	out.line("  renewed", intent.RenewedAt)
	out.line("  to be given up", intent.GiveUpAt)
	out.line("  given up", intent.AbandonedAt)
	out.line("  next look", intent.DueAt)
	for _, kept := range intent.Names {
		out.line("  named by a delivery", dash(kept.Name)+" at "+localTime(kept.At))
	}
	out.line("  metadata", dash(string(intent.Metadata)))
	out.line("  kept until", intent.ExpireAt)
	return out.end()
}
