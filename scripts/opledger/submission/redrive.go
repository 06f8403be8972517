package submission

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/decision"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// NewRedrive makes opledger redrive.
func NewRedrive(outside terminal.Environment) *cobra.Command {
	d := decision.Decider{Outside: outside}
	var f jobFlags
	var outcomes []string
	cmd := &cobra.Command{
		Use:   "redrive NAME --reason TEXT",
		Short: "Make a job of the requests of an ended job that are not done",
		Long: "Makes a new job of the requests of a job that has ended: of those that are not done, or have the outcomes\n" +
			"that are named. They are read from failed.jsonl in job storage. The old job stays as it ended. Each job names\n" +
			"the other, and attempts begin at 1. The options are the old job's, but those given here. The same command\n" +
			"again starts nothing twice. A request goes into one redrive: what fails in it is redriven from there.\n" +
			"opledger results NAME --merged prints the results of all of them. It needs no API key.",
		Example: "  opledger redrive jobs/nightly-2026-11-23 --reason 'the quota was raised'\n" +
			"  opledger redrive jobs/nightly-2026-11-23 --outcome truncated --id longer --max-attempts 1 --reason 'try again'",
		Args: terminal.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := redriving{given: cmd.Flags(), flags: &f, outside: d.Outside, Redriving: ledger.Redriving{
				Outcomes: job.NotDone(),
			}}
			if len(outcomes) > 0 {
				r.Outcomes = nil
			}
			for _, outcome := range outcomes {
				r.Outcomes = append(r.Outcomes, job.Outcome(outcome))
			}
			for _, problem := range r.Problems() {
				return terminal.Usage(terminal.Prefixed("--outcome", problem.Err))
			}
			return d.DecideOn(cmd.Context(), args[0], func(a *actions.Actions, key operation.Key) (any, string, error) {
				r.Of, r.Decision = key, d.Decision
				return r.run(cmd.Context(), a)
			})
		},
	}
	d.Flags(cmd)
	terminal.YesFlag(cmd, &d.Outside)
	flags := cmd.Flags()
	flags.StringSliceVar(&outcomes, "outcome", nil,
		"only requests with this outcome: failed, refused, invalid or truncated (default all)")
	terminal.Selectors(cmd, "outcome")
	flags.StringVar(&f.id, "id", "", "your name for the new job (default ID-2, and ID-3 for a redrive of that)")
	flags.StringVar(&f.options.Model, "model", "", "the model of all requests")
	f.addOptions(flags)
	f.addLabels(cmd)
	return cmd
}

// A redriving is what opledger redrive was asked for.
type redriving struct {
	ledger.Redriving
	given   *pflag.FlagSet
	flags   *jobFlags
	outside terminal.Environment
}

// run submits the new job.
func (r redriving) run(ctx context.Context, a *actions.Actions) (asJSON any, words string, err error) {
	if r.Of.Collection() != operation.Jobs {
		return nil, "", terminal.Usage(fmt.Errorf("%s is no job, such as jobs/nightly", phrase.Safe(string(r.Of))))
	}
	old, err := a.Ledger.Jobs.Read(ctx, r.Of)
	if err != nil {
		return nil, "", err
	}
	rec, err := a.Ledger.Operations.Read(ctx, r.Of)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) { // a record expires before its job does
		return nil, "", err
	}
	request, err := r.request(old.Job, rec)
	if err != nil {
		return nil, "", terminal.Usage(err)
	}
	if r.given.Changed("cancel-after") {
		err := decision.AgreeCancelAfter(ctx, r.outside, request.Options.CancelAfter(), "Redrive the job?",
			"nothing was submitted")
		if err != nil {
			return nil, "", err
		}
	}
	s, err := a.Storage(old.Storage)
	if err != nil {
		return nil, "", fmt.Errorf("opening the job storage of %s: %w", r.Of, err)
	}
	submitted, err := files.Redrive(ctx, a.Ledger, s, request)
	switch {
	case errors.As(err, new(*job.InputProblems)):
		return nil, "", terminal.Usage(err)
	case errors.Is(err, job.ErrNoRedrive):
		return nil, "", fmt.Errorf("%s: %w", r.Of, err)
	case err != nil:
		return nil, "", notAccepted(request.Key, err)
	}
	p, err := progress.Read(ctx, a.Ledger.Reading(), request.Key)
	if err != nil {
		return nil, "", err
	}
	became := "accepted"
	if !submitted.Created {
		became = "known, " + phrase.JobState(p)
	}
	return map[string]any{"job": p, "created": submitted.Created}, fmt.Sprintf("%s: %s of %s; %s", p.Key,
		phrase.Amount(p.Input.Requests, "request"), r.Of, became), nil
}

// request returns the new job, with what was given in place of what the old one has.
func (r redriving) request(old job.Job, rec operation.Record) (ledger.JobRequest, error) {
	f := jobFlags{options: old.Options, maxBytes: fmt.Sprint(old.Options.MaxBytesPerBatch)}
	f.id = cmp.Or(r.flags.id, old.RedriveID())
	f.options.Model = cmp.Or(r.flags.options.Model, old.Options.Model)
	f.said.JobKind = cmp.Or(r.flags.said.JobKind, old.JobKind)
	f.trace = r.flags.trace
	f.metadata = cmp.Or(r.flags.metadata, string(rec.Metadata))
	options := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.addOptions(options)
	var err error
	r.given.Visit(func(given *pflag.Flag) {
		into := options.Lookup(given.Name)
		if into == nil {
			return
		}
		if list, isList := given.Value.(pflag.SliceValue); isList {
			err = errors.Join(err, into.Value.(pflag.SliceValue).Replace(list.GetSlice()))
		} else {
			err = errors.Join(err, into.Value.Set(given.Value.String()))
		}
	})
	request, wrong := f.request(r.outside.Time())
	request.Redrive = r.Redriving
	return request, errors.Join(err, wrong)
}
