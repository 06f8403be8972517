package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/ledger"
)

// yesFlag adds --yes to a command that deletes.
func yesFlag(cmd *cobra.Command, yes *bool) { cmd.Flags().BoolVar(yes, "yes", false, "do not ask") }

// forgetting opens the ledger for do, which deletes from it if agree returns nil.
func forgetting(
	cmd *cobra.Command, outside environment, store string, yes bool,
	do func(l *ledger.Ledger, agree func(string) error) error,
) error {
	l, closeStore, err := openLedger(cmd.Context(), outside, store, false)
	if err != nil {
		return err
	}
	err = do(l, func(question string) error {
		if yes {
			return nil
		}
		return agree(cmd.Context(), outside, question, "nothing was deleted")
	})
	return errors.Join(withRemedy(err), closeStore())
}
