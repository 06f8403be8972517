package submission

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/decision"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

func newSubmitJob(outside terminal.Environment) *cobra.Command {
	f := newJobFlags()
	cmd := &cobra.Command{
		Use:   "job FILE… --id ID --model MODEL",
		Short: "Submit a job: a file of requests that becomes a file of results",
		Long: "Submits a job. A job is what Gemini runs as one batch or many (which Gemini calls batch jobs). Its input\n" +
			"is JSON Lines, {\"key\":\"review-17\",\"request\":{\"contents\":[…]}}: of any size, plain or .gz, in several\n" +
			"files, - for stdin, or gs://BUCKET/OBJECT. Keys are unique. Every error in it is printed before\n" +
			"anything is created. The input is stored in job storage, and so are the results later:\n" +
			"$OPLEDGER_JOB_STORAGE, or a folder beside a ledger that is a file. With --embed the requests are for\n" +
			"embeddings, {\"key\":\"a\",\"request\":{\"content\":{\"parts\":[{\"text\":\"…\"}]}}}.\n\n" +
			"The same --id with the same input and options is the same job: nothing is started twice. Requests that\n" +
			"Gemini did not do are sent again in a later batch. Each request is sent at most --max-attempts times, and\n" +
			"once more for each of its batches that Gemini created twice; opledger show counts those. The command\n" +
			"needs no API key: the workers of the ledger start the batches. With a price of the model in\n" +
			"$OPLEDGER_PRICES it prints what the job will cost, as an estimate.",
		Example: "  opledger submit job reviews.jsonl --id nightly-2026-11-23 --model gemini-3.5-flash --job-kind reviews\n" +
			"  opledger submit job a.jsonl.gz b.jsonl.gz --id both --model gemini-3.5-flash --key-field custom_id --dry-run\n" +
			"  zcat *.gz | opledger submit job - --id all --model gemini-3.5-flash --validate json --retry-on invalid",
		Args: terminal.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), outside, args) },
	}
	open.WriterFlags(cmd, &outside)
	f.addLabels(cmd)
	f.add(cmd)
	terminal.YesFlag(cmd, &outside)
	return cmd
}

// run checks everything that was given, then stores the input and submits the job.
func (f *jobFlags) run(ctx context.Context, outside terminal.Environment, args []string) (err error) {
	request, err := f.request(outside.Time())
	if err := errors.Join(err, checkInputs(args)); err != nil {
		return terminal.Usage(err)
	}
	settings, where, err := open.Parse[open.WriterSettings](outside)
	if err != nil {
		return err
	}
	in := jobInput{outside: outside, args: args, emulator: settings.Handlers.StorageEmulator, flags: f,
		quotas: settings.Ledger.EnqueuedTokens}
	if f.dryRun {
		summary, err := in.canonicalize(ctx, io.Discard, request)
		if err != nil {
			return err
		}
		return printDryRun(outside, request, summary, settings.Ledger.Prices.Of(request.Options.Model))
	}
	if err := f.agree(ctx, outside, args); err != nil {
		return err
	}
	s, err := cloud.JobStorage(settings.Jobs.In(where.Store), settings.Handlers)
	if err == nil && s == nil {
		err = errors.New("OPLEDGER_JOB_STORAGE: it is not set, and a job needs a place for its input and its results; " +
			"set it to the gs://BUCKET/PREFIX that the functions have")
	}
	if err != nil {
		return terminal.Usage(err)
	}
	w, err := open.Write(ctx, outside, settings.Server(), where, server.Options{})
	if err != nil {
		return err
	}
	return w.Do(ctx, func() error { return submitJob(ctx, in, w.Ledger, s, request) })
}

// agree asks before batches are cancelled that Gemini may still be working on.
func (f *jobFlags) agree(ctx context.Context, outside terminal.Environment, args []string) error {
	after := f.options.CancelAfter()
	if after > 0 && after < decision.Usual && slices.Contains(args, "-") && !outside.Yes {
		return terminal.Usage(errors.New("--cancel-after: below 24h it asks first, and stdin has the input: pass --yes"))
	}
	return decision.AgreeCancelAfter(ctx, outside, after, "Submit the job?", "nothing was submitted")
}

// submitJob writes the canonical input to a draft, stores that in s, unless it is there, and submits the job.
func submitJob(
	ctx context.Context, in jobInput, l *ledger.Ledger, s storage.Storage, request ledger.JobRequest,
) (err error) {
	draft, err := in.draft(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, draft.Discard()) }()
	summary, err := in.canonicalize(ctx, draft, request)
	if err != nil {
		return err
	}
	request.Input = summary.Input
	request.Input.Checked = true
	submitted, err := files.Accept(ctx, l, s, request)
	if errors.Is(err, files.ErrInput) && !errors.Is(err, files.ErrExpired) && !errors.Is(err, ledger.ErrJobDiffers) {
		if err := store(ctx, s, draft, files.Input(request.Key, summary.SHA256)); err != nil {
			return terminal.Unread(err)
		}
		submitted, err = files.Accept(ctx, l, s, request)
	}
	if err != nil {
		return notAccepted(request.Key, err)
	}
	p, err := progress.Read(ctx, l.Reading(), request.Key)
	if err != nil {
		return err
	}
	return printSubmitted(in.outside, p, submitted.Created, summary)
}

// notAccepted adds to an error of a submission, where it helps, that the same command may be repeated.
func notAccepted(key operation.Key, err error) error {
	switch {
	case errors.Is(err, operation.ErrSubmission):
		return terminal.Usage(err)
	case errors.Is(err, ledger.ErrJobDiffers):
		return err
	case errors.Is(err, files.ErrExpired):
		return fmt.Errorf("submitting %s: %w", key, err)
	default:
		return fmt.Errorf("%w; the same command again is safe", err)
	}
}
