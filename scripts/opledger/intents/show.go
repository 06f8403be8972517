package intents

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/submission"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
)

func newShow(outside terminal.Environment) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "show CORRELATION-ID",
		Short: "Show one intent: what was announced, and the operation that came of it",
		Example: "  opledger intent show nightly-2026-11-21\n" +
			"  opledger intent show nightly-2026-11-21 --json",
		Args: oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return open.Reader(cmd.Context(), outside, func(l *ledger.Ledger) error {
				return terminal.Repeated(cmd.Context(), outside, watch, func(w io.Writer) error {
					return showIntent(cmd.Context(), w, l, args[0], outside.JSON)
				})
			})
		},
	}
	open.LedgerFlags(cmd, &outside)
	terminal.WatchFlag(cmd, &watch)
	return cmd
}

// showIntent prints the intent of a correlation id [G6].
func showIntent(ctx context.Context, w io.Writer, l *ledger.Ledger, id string, asJSON bool) error {
	intent, err := l.Intents.Read(ctx, id)
	if err != nil {
		return withPrefixRemedy(err, id)
	}
	if asJSON {
		return terminal.PrintJSON(w, intent)
	}
	out := terminal.NewTable(w)
	out.Line(phrase.Safe(intent.CorrelationID), intent.State)
	out.Line("  operation", phrase.Safe(string(intent.Operation)))
	out.Line("  bound by", phrase.Safe(string(intent.BoundBy)))
	out.Line("  collection", phrase.Safe(string(intent.Collection)))
	said := intent.Submission
	said.CorrelationID = "" // the first line has it
	submission.Lines(out, said)
	out.Line("  recorded", intent.CreatedAt)
	out.Line("  renewed", intent.RenewedAt)
	if at := intent.Unlisted(); !at.IsZero() {
		out.Line("  may be submitted again", "Gemini's list, read at "+phrase.LocalTime(at)+", does not have it")
	}
	out.Line("  give up at", intent.GiveUpAt)
	out.Line("  given up", intent.AbandonedAt)
	if decision, ok := intent.Decision(); ok {
		out.Line("  abandoned", phrase.Abandoned(&decision))
	}
	out.Line("  next search", intent.DueAt)
	for _, kept := range intent.Names {
		out.Line("  named by a delivery", phrase.Safe(kept.Name)+" at "+phrase.LocalTime(kept.At))
	}
	out.Line("  kept until", intent.ExpireAt)
	return out.End()
}
