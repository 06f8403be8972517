package submission

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/check"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/storage"
)

const (
	stdin    = "-"
	inBucket = "gs://"
)

// checkInputs returns what is wrong with the names of inputs, before any of them is read.
func checkInputs(args []string) error {
	var problems []error
	stdins := 0
	for _, arg := range args {
		switch {
		case arg == stdin:
			if stdins++; stdins == 2 {
				problems = append(problems, errors.New("-: stdin can be read once"))
			}
		case strings.HasPrefix(arg, inBucket):
			_, _, err := bucketObject(arg)
			problems = append(problems, err)
		default:
			info, err := os.Stat(arg)
			if err == nil && info.IsDir() {
				err = fmt.Errorf("%s is a folder; name the files in it, such as %s", arg, path.Join(arg, "*.jsonl"))
			}
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// bucketObject splits gs://BUCKET/FOLDER/OBJECT into the location of a storage and a name in it.
func bucketObject(arg string) (location, name string, err error) {
	folder, name := path.Split(strings.TrimPrefix(arg, inBucket))
	location = inBucket + strings.TrimSuffix(folder, "/")
	if folder == "" || name == "" {
		return "", "", fmt.Errorf("%s names no object; write gs://BUCKET/OBJECT", arg)
	}
	if _, err := storage.ParseLocation(location); err != nil {
		return "", "", fmt.Errorf("%s: %w", arg, err)
	}
	return location, name, nil
}

// A jobInput is the input of a job as it was named.
type jobInput struct {
	outside  terminal.Environment
	args     []string
	emulator string // as in storage.Open
	flags    *jobFlags
	quotas   job.Quotas
}

// canonicalize reads the inputs, and writes their requests to w. What is wrong with them is an error of usage.
func (in jobInput) canonicalize(ctx context.Context, w io.Writer, request ledger.JobRequest) (job.Summary, error) {
	p := terminal.NewProgress(in.outside)
	defer p.End()
	o := job.CanonicalOptions{
		KeyField: in.flags.keyField, Job: request.Options,
		Allowed: job.Allowed{Quota: in.quotas[job.ModelName(request.Options.Model)]},
	}
	if request.Options.Validate != "" {
		checks := check.NewChecks(request.Options.Validate)
		o.Check = func(r job.Request) error {
			_, err := checks.Of(r.Body)
			return err
		}
	}
	summary, err := job.Canonicalize(w, in.readers(ctx, p), o)
	if ctx.Err() != nil {
		return summary, fmt.Errorf("reading the input: %w; nothing was created", terminal.ErrInterrupted)
	}
	if errors.As(err, new(*job.InputProblems)) {
		return summary, terminal.Usage(err)
	}
	return summary, terminal.Unread(err)
}

// readers returns the inputs, each with its name, and opens one after the other.
func (in jobInput) readers(ctx context.Context, p *terminal.Progress) iter.Seq2[string, io.Reader] {
	return func(yield func(string, io.Reader) bool) {
		for _, arg := range in.args {
			name := arg
			if arg == stdin {
				name = "stdin"
			}
			r := &reader{ctx: ctx, name: name, progress: p}
			r.content, r.err = in.open(ctx, arg)
			more := yield(name, r)
			if r.content != nil {
				_ = r.content.Close() // it was only read
			}
			if !more {
				return
			}
		}
	}
}

// open opens an input.
func (in jobInput) open(ctx context.Context, arg string) (io.ReadCloser, error) {
	if arg == stdin {
		return io.NopCloser(in.outside.In), nil
	}
	if !strings.HasPrefix(arg, inBucket) {
		return os.Open(arg)
	}
	location, name, err := bucketObject(arg)
	if err != nil {
		return nil, err
	}
	s, err := storage.Open(location, in.emulator)
	if err != nil {
		return nil, err
	}
	return s.Read(ctx, name, 0, -1)
}

// sayEvery is after how many bytes the progress is said.
const sayEvery = 16 << 20

// A reader reads an input, says how far it is, and ends with its context.
type reader struct {
	ctx        context.Context //nolint:containedctx // of the command, which reads the input once
	name       string
	content    io.ReadCloser
	err        error // of opening it
	progress   *terminal.Progress
	read, said int64
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.content.Read(p)
	if r.read += int64(n); r.read-r.said >= sayEvery {
		r.said = r.read
		r.progress.Say(phrase.Safe(r.name) + ": " + phrase.Bytes(r.read) + " read")
	}
	return n, err //nolint:wrapcheck // the caller names the input
}
