package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/jsonscan"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/storage"
)

// Redrive submits a job with requests of another one that has ended: those of its failed.jsonl that have the
// outcomes of r.Redrive [J14]. Both are in s. Attempts begin at 1. The same redrive again is known and creates nothing
// [J1]. It reads failed.jsonl twice: for the digest of the input, and to write it.
//
// Errors: ledger.ErrNoJob; job.ErrNoRedrive; ErrForeignStorage; ErrMissing; *job.InputProblems, such as of another
// model; else as Accept.
func Redrive(
	ctx context.Context, l *ledger.Ledger, s storage.Storage, r ledger.JobRequest,
) (ledger.JobSubmitted, error) {
	old, err := l.Jobs.Read(ctx, r.Redrive.Of)
	if err != nil {
		return ledger.JobSubmitted{}, err
	}
	if err := CheckStorage(s, old.Job); err != nil {
		return ledger.JobSubmitted{}, err
	}
	before := old.Job // which Submit records
	if err := before.Redriven(job.Redrive{Job: r.Key, Outcomes: r.Redrive.Outcomes}); err != nil {
		return ledger.JobSubmitted{}, err
	}
	input := func(w io.Writer) (job.Summary, error) { return canonical(ctx, s, old.Job, r, w) }
	summary, err := input(io.Discard)
	if err != nil {
		return ledger.JobSubmitted{}, err
	}
	r.Input = summary.Input
	r.Input.Checked = old.Input.Checked && r.Options.Validate == old.Options.Validate // else the split checks each line
	submitted, err := Accept(ctx, l, s, r)
	if !errors.Is(err, ErrInput) {
		return submitted, err
	}
	content, pipe := io.Pipe()
	go func() {
		_, err := input(pipe)
		_ = pipe.CloseWithError(err) // nil ends the content
	}()
	_, err = s.Create(ctx, Input(r.Key, r.Input.SHA256), content)
	_ = content.CloseWithError(io.ErrClosedPipe) // for what is still being written
	if err != nil && !errors.Is(err, storage.ErrExists) {
		return ledger.JobSubmitted{}, fmt.Errorf("storing the input in %s: %w", s, err)
	}
	return Accept(ctx, l, s, r)
}

// canonical writes the input of a redrive to w.
func canonical(
	ctx context.Context, s storage.Storage, old job.Job, r ledger.JobRequest, w io.Writer,
) (job.Summary, error) {
	name := old.Output.Failed.Name
	content, err := s.Read(ctx, name, 0, -1)
	if errors.Is(err, storage.ErrNotExist) {
		return job.Summary{}, fmt.Errorf("%w: there is no %s in %s", ErrMissing, name, s)
	}
	if err != nil {
		return job.Summary{}, fmt.Errorf("reading %s: %w", name, err)
	}
	defer content.Close() //nolint:errcheck // it was only read
	requests, pipe := io.Pipe()
	defer requests.Close() //nolint:errcheck // it never fails, and ends the writing
	go func() { _ = pipe.CloseWithError(pick(content, r.Redrive.Outcomes, pipe)) }()
	return job.Canonicalize(w, func(yield func(string, io.Reader) bool) { yield(name, requests) },
		job.CanonicalOptions{Job: r.Options})
}

// mostFailed bounds a line of failed.jsonl, in bytes: it has the answer beside the request.
const mostFailed = 4 * job.MaxLineBytes

// pick writes the requests of failed.jsonl that have one of the outcomes, without what became of them.
func pick(failed io.Reader, outcomes []job.Outcome, to io.Writer) error {
	w := bufio.NewWriterSize(to, 64<<10)
	for line, err := range scan(failed, mostFailed) {
		if err != nil {
			return err
		}
		var key, request, outcome []byte
		c := jsonscan.New(line)
		c.Object(func(name []byte) {
			switch string(name) {
			case "key":
				key = c.Value()
			case "request":
				request = c.Value()
			case "outcome":
				outcome = jsonscan.Text(c.Value())
			}
		})
		if slices.Contains(outcomes, job.Outcome(outcome)) {
			fmt.Fprintf(w, `{"key":%s,"request":%s}`+"\n", key, request) // an error is that of Flush, too
		}
	}
	return w.Flush() //nolint:wrapcheck // its reader says why it wants no more
}
