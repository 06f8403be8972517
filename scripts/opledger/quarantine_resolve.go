package main

import (
	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

func newQuarantineResolve(outside environment) *cobra.Command {
	var store string
	var d ledger.Abandonment
	cmd := &cobra.Command{
		Use:   "resolve DELIVERY --reason TEXT",
		Short: "Record that a quarantined delivery needs nothing more",
		Long: "Records that a quarantined delivery needs no operator any more: who decided, when and why. Its body\n" +
			"stays until its retention ends, and can still be retried.",
		Example: "  opledger quarantine resolve msg_2x… --reason 'sent by a test of another team'",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return decide(cmd, outside, store, &d, func(w writer) (any, string, error) {
				stands, words, err := (&actions.Actions{Ledger: w.Ledger}).ResolveQuarantined(cmd.Context(), args[0], d)
				return resolvedDeliveryJSON{args[0], stands.Abandonment, stands.Recorded}, words, withQuarantineRemedy(err)
			})
		},
	}
	storeFlag(cmd, &store)
	decisionFlags(cmd, &d)
	jsonFlag(cmd, &outside)
	return cmd
}

// A resolvedDeliveryJSON is the resolution that stands as JSON, and whether it is this one.
type resolvedDeliveryJSON struct {
	Delivery string                `json:"delivery"`
	Resolved operation.Abandonment `json:"resolved"`
	Recorded bool                  `json:"recorded"`
}
