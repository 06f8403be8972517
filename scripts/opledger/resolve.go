package main

import (
	"errors"
	"fmt"
	"strings"

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
		Short: "Record that an operation which ended in two ways was dealt with",
		Long: "Records that you have dealt with an operation which ended in two ways: who, when and why. It names\n" +
			"both ends. It leaves list --conflict, and status needs no operator for it. The first end stands as\n" +
			"before, the record keeps the other, and no effect runs. The same end reported again is dropped, and a\n" +
			"further, different one is a new conflict.",
		Example: "  opledger resolve batches/abc123 --reason 'SUCCEEDED is true, as Gemini says'",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := parseOperationName(args[0])
			if err != nil {
				return err
			}
			if err := completeDecision(&d); err != nil {
				return err
			}
			return change(cmd.Context(), outside, store, func(w writer) error {
				key, err := name.key(cmd.Context(), w.Ledger)
				if err != nil {
					return err
				}
				seen, err := w.Ledger.Record(cmd.Context(), key)
				if err != nil {
					return withRemedy(err)
				}
				stands, words, err := (&actions.Actions{Ledger: w.Ledger}).Resolve(cmd.Context(), seen, d)
				switch {
				case err != nil:
					return withRemedy(err)
				case outside.json:
					return printJSON(outside.out, resolvedJSON{
						key, seen.State, seen.ConflictState, stands.Abandonment, stands.Recorded,
					})
				}
				_, err = fmt.Fprintln(outside.out, words)
				return err
			})
		},
	}
	storeFlag(cmd, &store)
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

// decisionFlags adds the flags that say who decides, and why.
func decisionFlags(cmd *cobra.Command, d *ledger.Abandonment) {
	cmd.Flags().StringVar(&d.Why, "reason", "", "why; required")
	cmd.Flags().StringVar(&d.By, "by", "", "who decided (default the user of this machine)")
}

// completeDecision refuses a decision without a reason, and fills in who decided.
func completeDecision(d *ledger.Abandonment) (err error) {
	if strings.TrimSpace(d.Why) == "" {
		return usageError{errors.New("--reason: give the reason; it is recorded")}
	}
	if d.By == "" {
		d.By, err = operatorName()
	}
	return err
}
