package operations

import (
	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/decision"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/gemini/cancel"
	"github.com/opledger/opledger/shared/operation"
)

// NewAbandon makes opledger abandon.
func NewAbandon(outside terminal.Environment) *cobra.Command {
	d := decision.Decider{Outside: outside}
	cmd := &cobra.Command{
		Use:   "abandon NAME --reason TEXT",
		Short: "Stop waiting for an operation",
		Long: "Stops waiting for a pending operation: it is no longer looked up, and raises no more alerts. Its\n" +
			"state stays, and a completion that arrives later is still applied. Who decided, when and why is\n" +
			"recorded. Gemini may go on with it: opledger cancel has it cancelled there.",
		Example: "  opledger abandon batches/abc123 --reason 'submitted twice'",
		Args:    terminal.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.DecideOn(cmd.Context(), args[0], func(a *actions.Actions, key operation.Key) (any, string, error) {
				stands, words, err := a.Abandon(cmd.Context(), key, d.Decision)
				if cancel.Supports(key) {
					words += "; if Gemini goes on with it, opledger cancel " + phrase.ShellWord(string(key)) + a.StoreFlag +
						" has it cancelled"
				}
				return stands.JSON("abandoned", map[string]any{"operation": key}), words, err
			})
		},
	}
	d.Flags(cmd)
	return cmd
}
