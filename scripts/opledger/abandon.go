package main

import (
	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

func newAbandon(outside environment) *cobra.Command {
	var store string
	var d ledger.Abandonment
	cmd := &cobra.Command{
		Use:   "abandon NAME --reason TEXT",
		Short: "Stop waiting for an operation",
		Long: "Stops waiting for a pending operation: it is no longer looked up, and raises no more alerts. Its\n" +
			"state stays, and a completion that arrives later is still applied. Who decided, when and why is\n" +
			"recorded.",
		Example: "  opledger abandon batches/abc123 --reason 'submitted twice'",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := parseOperationName(args[0])
			if err != nil {
				return err
			}
			return decide(cmd, outside, store, &d, func(w writer) (any, string, error) {
				key, err := name.key(cmd.Context(), w.Ledger)
				if err != nil {
					return nil, "", err
				}
				stands, words, err := (&actions.Actions{Ledger: w.Ledger}).Abandon(cmd.Context(), key, d)
				return abandonedJSON{key, stands.Abandonment, stands.Recorded}, words, err
			})
		},
	}
	storeFlag(cmd, &store)
	overrideFlag(cmd, &outside)
	decisionFlags(cmd, &d)
	jsonFlag(cmd, &outside)
	return cmd
}

// An abandonedJSON is the decision that stands as JSON, and whether it is this one.
type abandonedJSON struct {
	Operation operation.Key         `json:"operation"`
	Abandoned operation.Abandonment `json:"abandoned"`
	Recorded  bool                  `json:"recorded"`
}
