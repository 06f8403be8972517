package intents

import (
	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/decision"
	"github.com/opledger/opledger/scripts/opledger/terminal"
)

func newAbandon(outside terminal.Environment) *cobra.Command {
	d := decision.Decider{Outside: outside}
	cmd := &cobra.Command{
		Use:   "abandon CORRELATION-ID --reason TEXT",
		Short: "Stop waiting for the operation of an intent",
		Long: "Stops waiting for the operation of an intent: no alert says that it was not found, and status needs\n" +
			"no operator for it. An operation with that correlation id which shows up later is registered all the\n" +
			"same. Who decided, when and why is recorded.",
		Example: "  opledger intent abandon nightly-2026-11-21 --reason 'the submitter died before it submitted'",
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.Decide(cmd.Context(), func(a *actions.Actions) (any, string, error) {
				stands, words, err := a.AbandonIntent(cmd.Context(), args[0], d.Decision)
				return stands.JSON("abandoned", map[string]any{"intent": args[0]}), words, withPrefixRemedy(err, args[0])
			})
		},
	}
	d.Flags(cmd)
	return cmd
}
