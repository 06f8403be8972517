package operations

import (
	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/decision"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/operation"
)

// NewCancel makes opledger cancel.
func NewCancel(outside terminal.Environment) *cobra.Command {
	d := decision.Decider{Outside: outside, AsksGemini: true}
	cmd := &cobra.Command{
		Use:   "cancel NAME --reason TEXT",
		Short: "Ask Gemini to cancel an operation, or cancel a job",
		Long: "Asks Gemini to cancel a pending batch or interaction. Who asked, when and why is recorded first. The\n" +
			"operation stays pending, and is looked up at every interval, until Gemini says how it ended: it may\n" +
			"succeed all the same, and then its effects run as ever. Requests that are done by then may be billed.\n" +
			"Gemini cannot cancel a video. The same command again asks Gemini again. An operation that was abandoned,\n" +
			"or is not registered, is not looked up: opledger reconcile NAME asks Gemini then.\n\n" +
			"Of a job no further batch is started, and the workers have Gemini cancel those that run. It needs no API\n" +
			"key. What succeeded is kept, and the job ends once its batches have.",
		Example: "  opledger cancel batches/abc123 --reason 'the prompt was wrong'\n" +
			"  opledger cancel jobs/nightly-2026-11-23 --reason 'the prompt was wrong'",
		Args: terminal.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := open.ParseOperationName(args[0])
			if err != nil {
				return err
			}
			if name, err = name.In(cmd.Context(), d.Outside); err != nil {
				return err
			}
			d.AsksGemini = !name.IsJob()
			return d.DecideOn(cmd.Context(), name.Resource, func(a *actions.Actions, key operation.Key) (any, string, error) {
				stands, words, err := a.Cancel(cmd.Context(), key, d.Decision)
				return stands.JSON("cancelRequested", map[string]any{"operation": key}), words, err
			})
		},
	}
	d.Flags(cmd)
	return cmd
}
