package operations

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/decision"
	"github.com/opledger/opledger/scripts/opledger/open"
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
	var effects bool
	cmd := &cobra.Command{
		Use:   "resume JOB --reason TEXT | --effects",
		Short: "Let a job go on that was paused, or end the pause of effects",
		Long: "Lets a job go on that starts nothing until someone resumes it: opledger show says why, and since when.\n" +
			"Who resumed it, when and why is recorded. A job that was cancelled is not resumed.\n\n" +
			"With --effects it ends the pause of effects instead, of the opledger serve that runs on the ledger's file.\n" +
			"That performs what is due at once, with its own settings. While OPLEDGER_EFFECTS_PAUSED is true for it, its\n" +
			"next start pauses effects again. A deployment is not paused by serve: change its setting. Who ended it, and\n" +
			"why if --reason says it, is in serve's log.",
		Example: "  opledger resume jobs/nightly-2026-11-23 --reason 'the answers are fine'\n" +
			"  opledger resume --effects",
		Args: terminal.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if effects != (len(args) == 0) {
				return terminal.Usage(errors.New("name the job, or give --effects and no job"))
			}
			if effects {
				return resumeEffects(cmd.Context(), d)
			}
			return d.DecideOn(cmd.Context(), args[0], func(a *actions.Actions, key operation.Key) (any, string, error) {
				stands, words, err := a.Resume(cmd.Context(), key, d.Decision)
				return stands.JSON("resumed", map[string]any{"operation": key}), words, err
			})
		},
	}
	d.Flags(cmd)
	cmd.Flags().BoolVar(&effects, "effects", false,
		"end the pause of effects, of the serve that runs on the ledger's file")
	return cmd
}

// resumeEffects has the serve that runs on the ledger end its pause. A reason is not required: the pause had none.
func resumeEffects(ctx context.Context, d decision.Decider) error {
	outside := d.Outside
	where, err := open.Find(outside)
	if err != nil {
		return terminal.Usage(err)
	}
	ended, err := where.ResumeEffects(ctx, d.Decision)
	if err != nil {
		return err
	}
	words := "serve is not paused: it performs what is due; unset OPLEDGER_EFFECTS_PAUSED here, if it is set"
	if ended {
		words = "the pause has ended, and serve performs what is due; unset OPLEDGER_EFFECTS_PAUSED where serve is " +
			"started, or its next start pauses effects again"
	}
	return outside.Print(map[string]bool{"ended": ended}, "%s", words)
}
