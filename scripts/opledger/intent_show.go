package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

func newIntentShow(outside environment) *cobra.Command {
	var store string
	var watch bool
	cmd := &cobra.Command{
		Use:   "show CORRELATION-ID",
		Short: "Show one intent: what was announced, and the operation that came of it",
		Example: "  opledger intent show nightly-2026-11-21\n" +
			"  opledger intent show nightly-2026-11-21 --json",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := intentID(args)
			if err != nil {
				return err
			}
			l, closeStore, err := openReader(cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			err = repeated(cmd.Context(), outside, watch, func(w io.Writer) error {
				return showIntent(cmd.Context(), w, l, id, outside.json)
			})
			return errors.Join(withRemedy(err), closeStore())
		},
	}
	storeFlag(cmd, &store)
	watchFlag(cmd, &watch)
	jsonFlag(cmd, &outside)
	return cmd
}

// showIntent prints the intent of a correlation id [G6].
func showIntent(ctx context.Context, w io.Writer, l *ledger.Ledger, id string, asJSON bool) error {
	intent, err := l.Intent(ctx, id)
	if err != nil {
		return withPrefixRemedy(err, id)
	}
	if asJSON {
		return printJSON(w, intent)
	}
	out := newTable(w)
	out.line(phrase.Safe(intent.CorrelationID), intent.State)
	out.line("  operation", phrase.Safe(string(intent.Operation)))
	out.line("  bound by", phrase.Safe(string(intent.BoundBy)))
	out.line("  collection", phrase.Safe(string(intent.Collection)))
	said := intent.Submission
	said.CorrelationID = "" // the first line has it
	submissionLines(out, said)
	out.line("  recorded", intent.CreatedAt)
	out.line("  renewed", intent.RenewedAt)
	if at := intent.Unlisted(); !at.IsZero() {
		out.line("  may be submitted again", "Gemini's list, read at "+phrase.LocalTime(at)+", does not have it")
	}
	out.line("  give up at", intent.GiveUpAt)
	out.line("  given up", intent.AbandonedAt)
	if decision, ok := intent.Decision(); ok {
		out.line("  abandoned", phrase.Abandoned(decision))
	}
	out.line("  next search", intent.DueAt)
	for _, kept := range intent.Names {
		out.line("  named by a delivery", phrase.Safe(kept.Name)+" at "+phrase.LocalTime(kept.At))
	}
	out.line("  kept until", intent.ExpireAt)
	return out.end()
}
