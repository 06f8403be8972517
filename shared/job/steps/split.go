package steps

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// split reads a job's input, checks it, and cuts it into parts. Nothing is sent before all of it is checked.
// A worker that follows another reads it from the beginning, because keys must be unique, and creates the
// parts that are missing.
func (o Options) split(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
	j, err := o.job(ctx, task.Operation)
	if err != nil || j.Phase != job.Splitting {
		return nil, err
	}
	err = files.Keep(ctx, o.Storage, j.Job)
	if errors.Is(err, files.ErrExpired) || errors.Is(err, ledger.ErrJobDiffers) {
		return invalid(j, err.Error()), nil
	}
	if err != nil {
		return nil, err
	}
	allowed, err := o.Ledger.Jobs.Allowed(ctx, j.Options.Model)
	if err != nil {
		return nil, err
	}
	s := splitting{
		Options: o, lease: task.Lease, job: j, sum: sha256.New(),
		seen:   make(map[operation.KeyHash]struct{}, min(max(j.Input.Requests, 0), 1<<20)),
		cutter: job.NewCutter(j.Within(allowed), j.Input.Object, j.Cut), named: named{most: o.bounds.references},
	}
	problem, err := s.read(ctx)
	switch {
	case err != nil:
		return nil, err
	case problem != "":
		return invalid(s.job, problem), nil
	}
	if rest, ok := s.cutter.Rest(); ok {
		s.ranges = append(s.ranges, rest)
	}
	if s.job.References, err = s.named.store(ctx, o.Storage, files.Of(j.Job, 0, task.Fence, references, 1)); err != nil {
		return nil, err
	}
	return nil, s.cut(ctx, true)
}

// invalid returns the write of a job that ends because nothing can be sent.
func invalid(j ledger.StoredJob, problem string) []ledger.Write {
	j.Invalid, j.Phase = diag.Cut(problem, maxProblem), job.Ended
	return []ledger.Write{j.Write()}
}

// A splitting is one attempt at a split.
type splitting struct {
	Options
	lease  ledger.Lease
	job    ledger.StoredJob
	sum    hash.Hash
	seen   map[operation.KeyHash]struct{}
	cutter *job.Cutter
	named  named
	ranges []job.Source // found, and not yet parts
	offset int64        // of the next line
}

// read reads the whole input. problem is what is wrong with it.
func (s *splitting) read(ctx context.Context) (problem string, err error) {
	content, err := s.Storage.Read(ctx, s.job.Input.Object, 0, -1)
	if errors.Is(err, storage.ErrNotExist) {
		return fmt.Sprintf("there is no %s in %s", s.job.Input.Object, s.Storage), nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the input: %w", err)
	}
	defer content.Close() //nolint:errcheck // it was only read
	number := int64(0)
	for line, err := range files.Scan(io.TeeReader(content, s.sum)) {
		if err != nil {
			return "", err
		}
		number++
		if problem := s.check(line); problem != "" {
			return fmt.Sprintf("line %d: %s", number, problem), nil
		}
		if err := s.add(ctx, int64(len(line))+1); err != nil {
			return "", err
		}
		if s.offset > s.job.Cut && s.job.Parts+len(s.ranges) >= s.bounds.parts { // this line is in one more
			return fmt.Sprintf("it would be more than %d batches; let a batch have more requests, or bytes", s.bounds.parts), nil
		}
	}
	input := s.job.Input
	switch sum := hex.EncodeToString(s.sum.Sum(nil)); {
	case number != input.Requests:
		return fmt.Sprintf("it has %d requests, not %d", number, input.Requests), nil
	case s.offset == input.Bytes+1:
		return "its last line has no newline", nil
	case s.offset != input.Bytes || sum != input.SHA256:
		return fmt.Sprintf("its SHA-256 is %s, not %s", sum, input.SHA256), nil
	}
	return "", nil
}

// check returns what is wrong with a line.
func (s *splitting) check(line []byte) string {
	request, err := job.SplitLine(line)
	if err != nil {
		return err.Error()
	}
	if embeds := request.Embeds(); !s.job.Input.Checked && embeds != s.job.Options.Embed {
		return fmt.Sprintf("the job has embed=%t, and %q is of an embedding: %t", s.job.Options.Embed, request.Key, embeds)
	}
	hash := operation.HashKey(request.Key)
	if _, twice := s.seen[hash]; twice {
		return fmt.Sprintf("the key %q stands on an earlier line, too", request.Key)
	}
	s.seen[hash] = struct{}{}
	job.ReferencesIn(request.Body, s.named.add)
	return ""
}

// add adds a line to a range, unless it is in a part already.
func (s *splitting) add(ctx context.Context, length int64) error {
	at := s.offset
	s.offset += length
	if at < s.job.Cut {
		return nil
	}
	if done, ok := s.cutter.Add(length); ok {
		s.ranges = append(s.ranges, done)
	}
	if len(s.ranges) < s.bounds.cut {
		return nil
	}
	return s.cut(ctx, false)
}

// cut makes parts of the ranges.
func (s *splitting) cut(ctx context.Context, done bool) (err error) {
	s.job, err = s.Ledger.Jobs.Cut(ctx, s.lease, s.job, s.ranges, done)
	s.ranges = nil
	return err
}
