package effects

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/decision"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// NewWaive makes opledger waive.
func NewWaive(outside terminal.Environment) *cobra.Command {
	var effect string
	d := decision.Decider{Outside: outside}
	cmd := &cobra.Command{
		Use:   "waive NAME --effect EFFECT --reason TEXT",
		Short: "Record that a dead effect needs nothing more",
		Long: "Waives a dead effect together with its failed items: nothing runs it, and it needs no operator. It\n" +
			"can still be replayed until its record expires. Who decided, when and why is recorded.",
		Example: "  opledger waive batches/abc123 --effect publish --reason 'published by hand'",
		Args:    terminal.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.DecideOn(cmd.Context(), args[0], func(a *actions.Actions, key operation.Key) (any, string, error) {
				stands, words, err := a.Waive(cmd.Context(), key, effect, d.Decision)
				if errors.Is(err, ledger.ErrNotFound) {
					rec, readErr := recordOrAlerts(cmd.Context(), a.Ledger, key)
					if err = readErr; err == nil {
						err = noEffect(rec, effect, "")
					}
				}
				return stands.JSON("waived", map[string]any{"operation": key, "effect": effect}), words, err
			})
		},
	}
	d.Flags(cmd)
	terminal.Required(cmd, &effect, "effect", "the dead effect")
	return cmd
}
