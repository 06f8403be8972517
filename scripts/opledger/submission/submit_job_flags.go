package submission

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// jobFlags are the flags of a job.
type jobFlags struct {
	submissionFlags
	id, keyField, maxBytes, deadline string
	cancelAfter                      time.Duration
	options                          job.Options
	dryRun                           bool
}

// newJobFlags returns flags that have the defaults of a job.
func newJobFlags() jobFlags {
	f := jobFlags{options: job.Options{}.WithDefaults(), maxBytes: "200MiB"}
	f.options.MaxFailures = "0"
	return f
}

// add adds the flags that only a job has.
func (f *jobFlags) add(cmd *cobra.Command) {
	terminal.Required(cmd, &f.id, "id", "your name for the job: letters, digits, - and _, at most 64")
	terminal.Required(cmd, &f.options.Model, "model", "the model of all requests, such as gemini-3.5-flash")
	flags := cmd.Flags()
	flags.StringVar(&f.keyField, "key-field", "", "the field of a line that has the key, such as custom_id (default key)")
	f.addOptions(flags)
	flags.BoolVar(&f.dryRun, "dry-run", false, "check the input, print what would be sent, and create nothing")
}

// addOptions adds the flags of a job's options, but the model. What the options have is the default of each.
func (f *jobFlags) addOptions(flags *pflag.FlagSet) {
	o := &f.options
	flags.Int64Var(&o.MaxRequestsPerBatch, "max-requests-per-batch", o.MaxRequestsPerBatch,
		"at most this many requests in one batch")
	flags.StringVar(&f.maxBytes, "max-bytes-per-batch", f.maxBytes, "at most this size of a batch's input, up to 2GiB")
	flags.IntVar(&o.MaxAttempts, "max-attempts", o.MaxAttempts,
		fmt.Sprintf("send a request at most this often, up to %d", job.MostAttempts))
	flags.IntVar(&o.MaxBatches, "max-batches", o.MaxBatches,
		fmt.Sprintf("run at most this many batches at once, up to %d", job.MostBatches))
	flags.StringSliceVar(&o.RetryOn, "retry-on", o.RetryOn,
		"also send invalid or truncated requests again: invalid,truncated")
	flags.StringVar(&o.Validate, "validate", o.Validate,
		"check each response: json, or schema (its request's); others are invalid. Ask Gemini for JSON with "+
			"generationConfig.responseMimeType or a schema")
	flags.StringVar((*string)(&o.MaxFailures), "max-failures", string(o.MaxFailures),
		"the job succeeds with this many requests that are not done, or with this share, such as 1%; it waits for you "+
			"before more are refused because a file or a cache at Gemini that they name is gone")
	flags.StringVar((*string)(&o.StopAfter), "stop-after", string(o.StopAfter),
		"start nothing more after this many requests, or this share, are not done (default never)")
	flags.BoolVar(&o.Embed, "embed", o.Embed, "the requests are for embeddings: each has content, and no contents")
	flags.DurationVar(&f.cancelAfter, "cancel-after", o.CancelAfter(),
		"cancel a batch that runs for longer, and send what it did not do again (default never)")
	flags.StringVar(&f.deadline, "deadline", "", "from then on start nothing more, cancel what runs, and end with what "+
		"is there: 07:00 (the next, in the time zone here), 2026-11-24T07:00:00Z or 8h")
	flags.IntVar(&o.Priority, "priority", o.Priority,
		fmt.Sprintf("of jobs that wait for room, those of a higher priority go first: from -%d to %[1]d", job.MostPriority))
	flags.Int64Var(&o.Pilot, "pilot", o.Pilot,
		"first run this many requests as a batch of their own, and the rest if enough of them are done (default none)")
	flags.StringVar((*string)(&o.PilotFailures), "pilot-failures", string(o.PilotFailures),
		"start the rest if at most this many requests of the pilot, or this share, are not done; else the job waits\n"+
			"for resume or cancel (default "+job.DefaultPilotFailures+")")
	flags.Float64Var(&o.MaxCost, "max-cost", o.MaxCost,
		"start no batch beyond this many dollars, as estimated by $OPLEDGER_PRICES; the job waits then for opledger\n"+
			"change --max-cost or cancel (default no limit)")
}

// request returns the job that the flags describe, without its input. The error joins every problem.
func (f *jobFlags) request(now time.Time) (ledger.JobRequest, error) {
	var problems []error
	key, err := operation.JobKey(f.id)
	problems = append(problems, terminal.Prefixed("--id", err))
	if f.options.MaxBytesPerBatch, err = parseSize(f.maxBytes); err != nil {
		problems = append(problems, terminal.Prefixed("--max-bytes-per-batch", err))
		f.options.MaxBytesPerBatch = job.DefaultMaxBytesPerBatch
	}
	f.options.CancelAfterSeconds = job.WholeSeconds(f.cancelAfter)
	f.options.Deadline, err = job.ParseDeadline(now, f.deadline)
	problems = append(problems, terminal.Prefixed("--deadline", err))
	for _, problem := range f.options.ProblemsAt(now) {
		flag := terminal.FlagOf(strings.TrimSuffix(problem.Field, "Seconds"))
		problems = append(problems, terminal.Prefixed(flag, problem.Err))
	}
	problems = append(problems, f.submission().Validate().Err())
	return ledger.JobRequest{Key: key, Submission: f.submission(), Options: f.options}, errors.Join(problems...)
}

// parseSize returns the bytes that a size names, such as 200MB, 1.5GiB or 4096.
func parseSize(text string) (int64, error) {
	size, err := humanize.ParseBytes(text)
	// It ignores commas, so that 1,5MiB would be 15.
	if err != nil || size > math.MaxInt64/2 || strings.ContainsRune(text, ',') {
		return 0, fmt.Errorf("it must be a size such as 200MB or 1.5GiB, not %s", diag.Quote(text))
	}
	return int64(size), nil //nolint:gosec // it is less than that
}
