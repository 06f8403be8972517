package main

import (
	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

func newResolve(outside environment) *cobra.Command {
	var store string
	var d ledger.Abandonment
	cmd := &cobra.Command{
		Use:   "resolve NAME --reason TEXT",
		Short: "Record that the conflict of an operation is resolved",
		Long: "Records that you have resolved the conflict of an operation which ended in two ways: who, when and\n" +
			"why. It names both ends. It leaves list --conflict, and status needs no operator for it. The first end\n" +
			"stands as before, the record keeps the other, and no effect runs. The same end reported again is\n" +
			"dropped, and a further, different one is a new conflict.",
		Example: "  opledger resolve batches/abc123 --reason 'SUCCEEDED is true, as Gemini says'",
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
				seen, err := w.Ledger.Record(cmd.Context(), key)
				if err != nil {
					return nil, "", err
				}
				stands, words, err := (&actions.Actions{Ledger: w.Ledger}).Resolve(cmd.Context(), seen, d)
				return resolvedJSON{key, seen.State, seen.ConflictState, stands.Abandonment, stands.Recorded}, words, err
			})
		},
	}
	storeFlag(cmd, &store)
	overrideFlag(cmd, &outside)
	decisionFlags(cmd, &d)
	jsonFlag(cmd, &outside)
	return cmd
}

// A resolvedJSON is the resolution that stands as JSON, and whether it is this one.
type resolvedJSON struct {
	Operation operation.Key         `json:"operation"`
	Stands    operation.State       `json:"stands"`
	Other     operation.State       `json:"other"`
	Resolved  operation.Abandonment `json:"resolved"`
	Recorded  bool                  `json:"recorded"`
}
