package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

func newAbandon(outside environment) *cobra.Command {
	var store, effect string
	var decision ledger.Abandonment
	cmd := &cobra.Command{
		Use:   "abandon NAME --reason TEXT",
		Short: "Stop waiting for an operation, or waive a dead effect",
		Long: "Stops waiting for a pending operation: it is no longer looked up, and raises no more alerts. Its\n" +
			"state stays, and a completion that arrives later is still applied. With --effect, waives a dead\n" +
			"effect together with its failed items. Who decided, when and why is recorded.",
		Example: "  opledger abandon batches/abc123 --reason 'submitted twice'\n" +
			"  opledger abandon batches/abc123 --effect publish --reason 'published by hand'",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := parseOperationName(args[0])
			if err != nil {
				return err
			}
			if err := completeDecision(&decision); err != nil {
				return err
			}
			return change(cmd.Context(), outside, store, func(w writer) error {
				key, err := name.key(cmd.Context(), w.Ledger)
				if err != nil {
					return err
				}
				return abandon(cmd.Context(), outside, w.Ledger, key, effect, decision)
			})
		},
	}
	storeFlag(cmd, &store)
	decisionFlags(cmd, &decision)
	cmd.Flags().StringVar(&effect, "effect", "", "waive this dead effect instead of abandoning the operation")
	jsonFlag(cmd, &outside)
	return cmd
}

// An abandonedJSON is the decision that stands as JSON, and whether it is this one.
type abandonedJSON struct {
	Operation operation.Key         `json:"operation"`
	Effect    string                `json:"effect,omitempty"`
	Abandoned operation.Abandonment `json:"abandoned"`
	Recorded  bool                  `json:"recorded"`
}

// abandon records the decision, or prints an earlier one that stands.
func abandon(
	ctx context.Context, outside environment, l *ledger.Ledger, key operation.Key, effect string, a ledger.Abandonment,
) error {
	stands, words, err := (&actions.Actions{Ledger: l}).Abandon(ctx, key, effect, a)
	if errors.Is(err, ledger.ErrNotFound) && effect != "" {
		rec, readErr := recordOrAlerts(ctx, l, key)
		if readErr == nil {
			return noEffect(rec, effect, "")
		}
		err = readErr
	}
	if err != nil {
		return withRemedy(err)
	}
	if outside.json {
		return printJSON(outside.out, abandonedJSON{key, effect, stands.Abandonment, stands.Recorded})
	}
	_, err = fmt.Fprintln(outside.out, words)
	return err
}
