package operations

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/decision"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
)

// NewRelease makes opledger release.
func NewRelease(outside terminal.Environment) *cobra.Command {
	d := decision.Decider{Outside: outside}
	cmd := &cobra.Command{
		Use:   "release PART --reason TEXT",
		Short: "Give up the batch of a job's part, so that its requests are sent again",
		Long: "Gives up the batch of a part of a job: one that Gemini no longer knows, or that never ends. Its requests\n" +
			"go into another batch, and that counts as an attempt. Gemini is asked to cancel the batch. Its result is\n" +
			"never collected, also if it comes: what it has done is paid twice. So it asks first. Who decided, when\n" +
			"and why is recorded. Nothing else gives up a batch: opledger waits for it, however long it takes.",
		Example: "  opledger release jobs/nightly-2026-11-23/00012 --reason 'not found at Gemini since Monday'",
		Args:    terminal.Args(cobra.ExactArgs(1)),
		RunE: open.Named(func(cmd *cobra.Command, name open.OperationName) error {
			if !name.IsPart() {
				return terminal.Usage(errors.New("name the part, such as jobs/nightly-2026-11-23/00012: " +
					"opledger show JOB lists a job's parts"))
			}
			return d.Decide(cmd.Context(), func(a *actions.Actions) (any, string, error) {
				p, _, err := a.Ledger.Jobs.Part(cmd.Context(), name.Key)
				if err != nil {
					return nil, "", err
				}
				if err := agreeToRelease(cmd.Context(), d.Outside, p.Part); err != nil {
					return nil, "", err
				}
				stands, words, err := a.Release(cmd.Context(), name.Key, d.Decision)
				return stands.JSON("released", map[string]any{"part": name.Key}), words, err
			})
		}),
	}
	d.Flags(cmd)
	terminal.YesFlag(cmd, &d.Outside)
	return cmd
}

// agreeToRelease asks whether to give up the batch of a part, unless --yes is given. What was released is not
// asked about, and what cannot be released is refused here: by now the part may have a batch that was not asked
// about.
func agreeToRelease(ctx context.Context, outside terminal.Environment, p job.Part) error {
	batch, running := "a batch that may have been created", p.State == job.Starting && p.Waits == job.WaitsForIntent
	if p.State == job.Started {
		batch, running = "batch "+phrase.Safe(string(p.Batch)), true
	}
	switch {
	case outside.Yes, p.Released != nil:
		return nil
	case !running:
		return fmt.Errorf("%w: it is %s; opledger show %s%s shows it, and there is nothing to release",
			ledger.ErrNotRunning, p.State, phrase.ShellWord(string(p.Key)), open.NamedFlag(outside))
	}
	question := fmt.Sprintf("%s, %s, %s. %s. Release it?", phrase.Safe(string(p.Key)), p.State, batch,
		actions.AboutRelease)
	return terminal.Agree(ctx, outside, question, "nothing was released")
}
