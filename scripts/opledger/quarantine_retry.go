package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/phrase"
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
	words, err := (&actions.Actions{Ledger: l}).Retry(ctx, id)
	if err != nil {
		return fmt.Errorf("%s: %w", phrase.Safe(id), withQuarantineRemedy(err))
	}
	_, err = fmt.Fprintln(outside.out, words)
	return err
}
