package decision

import (
	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
)

// YesFlag adds --yes to a command that deletes.
func YesFlag(cmd *cobra.Command, yes *bool) { cmd.Flags().BoolVar(yes, "yes", false, "do not ask") }

// Forgetting opens the ledger for do, which deletes from it if agree returns nil.
func Forgetting(
	cmd *cobra.Command, outside terminal.Environment, store string, yes bool,
	do func(l *ledger.Ledger, agree func(string) error) error,
) error {
	return open.Ledger(cmd.Context(), outside, store, false, func(l *ledger.Ledger) error {
		return do(l, func(question string) error {
			if yes {
				return nil
			}
			return terminal.Agree(cmd.Context(), outside, question, "nothing was deleted")
		})
	})
}
