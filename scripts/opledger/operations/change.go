package operations

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/decision"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// NewChange makes opledger change.
func NewChange(outside terminal.Environment) *cobra.Command {
	d := decision.Decider{Outside: outside}
	var maxBatches int
	var maxFailures, stopAfter, deadline string
	var maxCost float64
	var priority int
	var cancelAfter time.Duration
	cmd := &cobra.Command{
		Use:   "change JOB --reason TEXT",
		Short: "Change limits of a job while it runs",
		Long: "Changes limits of a job while it runs, each as in opledger submit job. Batches that run go on. Who changed\n" +
			"what, when and why is recorded, and opledger show prints it. The job stays the one that was submitted: to\n" +
			"submit it again with its first options starts nothing twice. A job that --stop-after has stopped, or whose\n" +
			"deadline was reached, stays so.",
		Example: "  opledger change jobs/nightly-2026-11-23 --max-batches 5 --reason 'the quota is needed elsewhere'\n" +
			"  opledger change jobs/nightly-2026-11-23 --max-failures 2% --stop-after '' --reason 'good enough'",
		Args: terminal.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var limits job.Limits
			for flag, limit := range map[string]func(){
				"max-batches":  func() { limits.MaxBatches = &maxBatches },
				"max-failures": func() { limits.MaxFailures = (*job.Tolerance)(&maxFailures) },
				"stop-after":   func() { limits.StopAfter = (*job.Tolerance)(&stopAfter) },
				"max-cost":     func() { limits.MaxCost = &maxCost },
				"priority":     func() { limits.Priority = &priority },
				"cancel-after": func() { limits.CancelAfterSeconds = new(job.WholeSeconds(cancelAfter)) },
			} {
				if cmd.Flags().Changed(flag) {
					limit()
				}
			}
			now := outside.Time()
			var wrong error
			if cmd.Flags().Changed("deadline") {
				at, err := job.ParseDeadline(now, deadline)
				limits.Deadline, wrong = &at, terminal.Prefixed("--deadline", err)
			}
			if err := usageOf(limits, now, wrong); err != nil {
				return err
			}
			if err := decision.AgreeCancelAfter(cmd.Context(), d.Outside, cancelAfter, "Change the job?",
				"nothing was changed"); err != nil {
				return err
			}
			return d.DecideOn(cmd.Context(), args[0], func(a *actions.Actions, key operation.Key) (any, string, error) {
				j, words, err := a.Change(cmd.Context(), key, limits, d.Decision)
				return map[string]any{"operation": key, "options": j.Options, "changes": j.Changes}, words, err
			})
		},
	}
	d.Flags(cmd)
	terminal.YesFlag(cmd, &d.Outside)
	cmd.Flags().IntVar(&maxBatches, "max-batches", 0, "run at most this many batches at once")
	cmd.Flags().StringVar(&maxFailures, "max-failures", "",
		"the job succeeds with this many requests that are not done, or with this share")
	cmd.Flags().StringVar(&stopAfter, "stop-after", "",
		"start nothing more after this many requests, or this share, are not done; '': never")
	cmd.Flags().StringVar(&deadline, "deadline", "",
		"from then on start nothing more, and cancel what runs: 07:00 (in the time zone here), 2026-11-24T07:00:00Z\n"+
			"or 8h; '': never")
	cmd.Flags().DurationVar(&cancelAfter, "cancel-after", 0,
		"cancel a batch that is started from now on once it runs for longer; 0: never")
	cmd.Flags().IntVar(&priority, "priority", 0,
		fmt.Sprintf("of jobs that wait for room, those of a higher priority go first: from -%d to %[1]d", job.MostPriority))
	cmd.Flags().Float64Var(&maxCost, "max-cost", 0, "spend at most this many dollars, estimated; 0: no limit")
	return cmd
}

// usageOf returns what is wrong with limits that are set now, by their flags.
func usageOf(limits job.Limits, now time.Time, wrong error) error {
	if limits == (job.Limits{}) {
		return terminal.Usage(errors.New("there is nothing to change: give --max-batches, --max-failures, --stop-after, " +
			"--deadline, --max-cost, --priority or --cancel-after"))
	}
	p := diag.Problems{wrong}
	for _, problem := range limits.Problems(now) {
		p.Of(terminal.FlagOf(problem.Field), problem.Err)
	}
	if err := errors.Join(p...); err != nil {
		return terminal.Usage(err)
	}
	return nil
}
