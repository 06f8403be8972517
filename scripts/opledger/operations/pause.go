package operations

import (
	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/decision"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/operation"
)

// NewPause makes opledger pause.
func NewPause(outside terminal.Environment) *cobra.Command {
	d := decision.Decider{Outside: outside}
	cmd := &cobra.Command{
		Use:   "pause JOB --reason TEXT",
		Short: "Let a job start no further batch until it is resumed",
		Long: "Pauses a job: no further batch of it is started until opledger resume. Batches that run go on, and what\n" +
			"they do is collected, and paid. A batch whose creation has begun may still be created in the next two\n" +
			"minutes. Who paused the job, when and why is recorded. A paused job is not reported as stuck.",
		Example: "  opledger pause jobs/nightly-2026-11-23 --reason 'half of the answers are empty'",
		Args:    terminal.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.DecideOn(cmd.Context(), args[0], func(a *actions.Actions, key operation.Key) (any, string, error) {
				stands, words, err := a.Pause(cmd.Context(), key, d.Decision)
				return stands.JSON("paused", map[string]any{"operation": key}), words, err
			})
		},
	}
	d.Flags(cmd)
	return cmd
}

// NewResume makes opledger resume.
func NewResume(outside terminal.Environment) *cobra.Command {
	d := decision.Decider{Outside: outside}
	cmd := &cobra.Command{
		Use:   "resume JOB --reason TEXT",
		Short: "Let a job go on that was paused",
		Long: "Lets a job go on that starts nothing until someone resumes it: opledger show says why, and since when.\n" +
			"Who resumed it, when and why is recorded. A job that was cancelled is not resumed.",
		Example: "  opledger resume jobs/nightly-2026-11-23 --reason 'the answers are fine'",
		Args:    terminal.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.DecideOn(cmd.Context(), args[0], func(a *actions.Actions, key operation.Key) (any, string, error) {
				stands, words, err := a.Resume(cmd.Context(), key, d.Decision)
				return stands.JSON("resumed", map[string]any{"operation": key}), words, err
			})
		},
	}
	d.Flags(cmd)
	return cmd
}
