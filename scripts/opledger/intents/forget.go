package intents

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
)

func newForget(outside terminal.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forget CORRELATION-ID",
		Short: "Delete an intent that no operation has",
		Long: "Permanently deletes an intent that no operation has, and asks first. A job that was submitted with\n" +
			"its correlation id stays unregistered. The intent of an operation is deleted with it, by opledger forget.",
		Example: "  opledger intent forget nightly-2026-11-21\n" +
			"  opledger intent forget nightly-2026-11-21 --yes",
		Args: oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return open.Ledger(cmd.Context(), outside, false, func(l *ledger.Ledger) error {
				return forgetIntent(cmd.Context(), outside, l, args[0])
			})
		},
	}
	open.LedgerFlags(cmd, &outside)
	terminal.YesFlag(cmd, &outside)
	return cmd
}

// forgetIntent prints the intent of a correlation id, and deletes it if the operator agrees.
func forgetIntent(ctx context.Context, outside terminal.Environment, l *ledger.Ledger, id string) error {
	intent, err := l.Intents.Read(ctx, id)
	if err != nil {
		return withPrefixRemedy(err, id)
	}
	switch err := l.Intents.CanForget(ctx, intent); {
	case errors.Is(err, ledger.ErrIntentInUse):
		return fmt.Errorf("%w; opledger forget %s%s deletes both", err, phrase.ShellWord(string(intent.Operation)),
			open.NamedFlag(outside))
	case err != nil:
		return err
	}
	about := fmt.Sprintf("%s: %s", phrase.Safe(id), intent.State)
	if intent.Operation != "" {
		about += " with " + phrase.Safe(string(intent.Operation))
	}
	if intent.Waiting() {
		about += "; a job that was submitted with it stays unregistered"
	}
	question := "The intent " + about + ". Delete it permanently?"
	if err := terminal.Agree(ctx, outside, question, "nothing was deleted"); err != nil {
		return err
	}
	if err := l.Intents.Forget(ctx, intent); err != nil {
		return err
	}
	return outside.Print(map[string]any{"intent": id, "deleted": 1}, "intent %s forgotten", phrase.Safe(id))
}
