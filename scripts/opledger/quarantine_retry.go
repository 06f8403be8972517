package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/ledger"
)

func newQuarantineRetry(outside environment) *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "retry DELIVERY...",
		Short: "Ingest quarantined deliveries that this revision can read",
		Long: "Reads the bodies again with this revision, and ingests what it can read. It does so under the\n" +
			"delivery's own id, so that none is ingested twice. The bodies stay in quarantine until their retention\n" +
			"ends.",
		Example: "  opledger quarantine retry msg_2x…",
		Args:    usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return change(cmd.Context(), outside, store, func(w writer) error {
				var err error
				for _, id := range args {
					err = errors.Join(err, retryQuarantined(cmd.Context(), outside, w.Ledger, id))
				}
				return err
			})
		},
	}
	storeFlag(cmd, &store)
	return cmd
}

func retryQuarantined(ctx context.Context, outside environment, l *ledger.Ledger, id string) error {
	receipt, err := ingestQuarantined(ctx, l, id)
	if err != nil {
		return fmt.Errorf("%s: %w", phrase.Safe(id), withQuarantineRemedy(err))
	}
	decision := string(receipt.Outcome)
	if receipt.Reason != "" {
		decision += " (" + string(receipt.Reason) + ")"
	}
	_, err = fmt.Fprintf(outside.out, "%s: %s; %s is %s\n", phrase.Safe(id), decision, phrase.Safe(string(receipt.Key)),
		phrase.Safe(string(receipt.State)))
	return err
}

// ingestQuarantined ingests a quarantined delivery. Its signature was verified before it was
// stored.
func ingestQuarantined(ctx context.Context, l *ledger.Ledger, id string) (ledger.Receipt, error) {
	_, body, err := l.ReadQuarantined(ctx, id)
	if err != nil {
		return ledger.Receipt{}, err
	}
	event, err := gemini.DecodeEvent(id, body)
	if err != nil {
		return ledger.Receipt{}, fmt.Errorf("this revision cannot read it either: %w", err)
	}
	receipt, err := l.Ingest(ctx, event)
	if err != nil {
		return receipt, err
	}
	return receipt, l.MarkRetried(ctx, id, receipt.Outcome)
}
