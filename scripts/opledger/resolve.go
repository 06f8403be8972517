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
		Short: "Record that a conflict, or an operation that is not registered, is resolved",
		Long: "Records that an operation needs no operator any more: who decided, when and why. One that ended in\n" +
			"two ways leaves list --conflict: the first end stands as before, the record keeps the other, and no\n" +
			"effect runs. The same end reported again is dropped, and a further, different one is a new conflict. One\n" +
			"that is not registered, because it is another program's, leaves list --unregistered; it can still be\n" +
			"registered. For a body in quarantine there is opledger quarantine resolve.",
		Example: "  opledger resolve batches/abc123 --reason 'SUCCEEDED is true, as Gemini says'\n" +
			"  opledger resolve batches/abc123 --reason 'a batch of another team'",
		Args: usageArgs(cobra.ExactArgs(1)),
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
	Other     operation.State       `json:"other,omitempty"` // that conflicts with it; empty: it is not registered
	Resolved  operation.Abandonment `json:"resolved"`
	Recorded  bool                  `json:"recorded"`
}
