package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// Jobs describe the jobs of a run.
type Jobs struct {
	Count    int
	Requests int    // of each
	Storage  string // their job storage, as storage.Open takes it
	// StorageEmulator is the address of a simulated Cloud Storage, for a Storage that is a bucket.
	StorageEmulator string
}

// batches is into how many batches the requests of a job are cut, while a batch takes them.
const batches = 4

// options are those of each job. It succeeds unless a tenth of its requests is not done.
func (j Jobs) options() job.Options {
	return job.Options{
		Model:               model,
		MaxRequestsPerBatch: min(int64((j.Requests+batches-1)/batches), job.DefaultMaxRequestsPerBatch),
		MaxFailures:         "10%",
	}.WithDefaults()
}

// A wantedJob is a job of the run.
type wantedJob struct {
	key      operation.Key
	requests int
}

// of returns the jobs of a run with this seed.
func (j Jobs) of(seed uint64) []wantedJob {
	all := make([]wantedJob, j.Count)
	for i := range all {
		all[i] = wantedJob{operation.Key(fmt.Sprintf("%s/local-%d-%d", operation.Jobs, seed, i+1)), j.Requests}
	}
	return all
}

// request is the key of the nth request. No other job has it, so that Gemini's count of it is that of the job.
func (j wantedJob) request(n int) string { return fmt.Sprintf("%s/review-%06d", j.key.ID(), n) }

// input writes the requests as JSON Lines.
func (j wantedJob) input(to io.Writer) error {
	for n := range j.requests {
		_, err := fmt.Fprintf(to, `{"key":%q,"request":{"contents":[{"parts":[{"text":"Classify review %d."}]}]}}`+"\n",
			j.request(n), n)
		if err != nil {
			return fmt.Errorf("writing the requests of %s: %w", j.key, err)
		}
	}
	return nil
}

// submit submits the job as opledger submit job does: the canonical input first, then the job.
func (j wantedJob) submit(ctx context.Context, l *ledger.Ledger, s storage.Storage, o job.Options) error {
	var given, canonical bytes.Buffer
	if err := j.input(&given); err != nil {
		return err
	}
	inputs := func(yield func(string, io.Reader) bool) { yield("the requests", &given) }
	summary, err := job.Canonicalize(&canonical, inputs, job.CanonicalOptions{Job: o})
	if err != nil {
		return fmt.Errorf("preparing the input of %s: %w", j.key, err)
	}
	request := ledger.JobRequest{
		Key: j.key, Submission: operation.Submission{JobKind: "reviews"}, Options: o,
		Input: summary.Input,
	}
	request.Input.Checked = true
	_, err = s.Create(ctx, files.Input(j.key, summary.SHA256), &canonical)
	if err != nil && !errors.Is(err, storage.ErrExists) {
		return fmt.Errorf("storing the input of %s: %w", j.key, err)
	}
	submitted, err := files.Accept(ctx, l, s, request)
	switch {
	case err != nil:
		return fmt.Errorf("submitting %s: %w", j.key, err)
	case !submitted.Created:
		return errSameSeed
	}
	return nil
}

// submitJobs submits all jobs.
func (o Options) submitJobs(ctx context.Context, audit *audit) error {
	for _, j := range audit.wantedJobs {
		if err := j.submit(ctx, audit.ledger, audit.storage, o.Jobs.options()); err != nil {
			return err
		}
	}
	return nil
}
