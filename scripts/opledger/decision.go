package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/ledger"
)

// decisionFlags adds the flags that say who decides, and why.
func decisionFlags(cmd *cobra.Command, d *ledger.Abandonment) {
	cmd.Flags().StringVar(&d.Why, "reason", "", "why; required")
	cmd.Flags().StringVar(&d.By, "by", "", "who decided (default the user of this machine)")
}

// decide opens the ledger for record, and prints the decision that stands: what record returns as
// JSON, or in words. It refuses a decision without a reason, and fills in who decided.
func decide(
	cmd *cobra.Command, outside environment, store string, d *ledger.Abandonment,
	record func(writer) (asJSON any, words string, err error),
) (err error) {
	if strings.TrimSpace(d.Why) == "" {
		return usageError{errors.New("--reason: give the reason; it is recorded")}
	}
	if d.By == "" {
		if d.By, err = operatorName(); err != nil {
			return err
		}
	}
	return change(cmd.Context(), outside, store, func(w writer) error {
		asJSON, words, err := record(w)
		switch {
		case err != nil:
			return withRemedy(err)
		case outside.json:
			return printJSON(outside.out, asJSON)
		}
		_, err = fmt.Fprintln(outside.out, words)
		return err
	})
}
