package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

var (
	// ErrInput: the input is not in job storage, or has another size than was said.
	ErrInput = errors.New("the input is not in job storage")
	// ErrExpired: a job with the id ended long ago, and its record has expired.
	ErrExpired = errors.New("a job with this id has ended, and its record has expired")
)

// A manifest is what was submitted under an id. It stays with the results, so that the id is not given to
// another job once the record has expired [J1].
type manifest struct {
	Key     operation.Key `json:"key"`
	JobKind string        `json:"jobKind,omitempty"`
	Options job.Options   `json:"options"`
	Input   job.Input     `json:"input"`
	// Redrives is as in [job.Job]: results are merged along it, also once the records have expired.
	Redrives operation.Key `json:"redrives,omitempty"`
}

// Accept submits a job whose input is in s. The same job again is known and creates nothing [J1].
//
// Errors: ErrInput; ErrExpired; ledger.ErrJobDiffers; operation.ErrSubmission; else of the storage or the
// ledger, after which the same call may be made again.
func Accept(
	ctx context.Context, l *ledger.Ledger, s storage.Storage, r ledger.JobRequest,
) (ledger.JobSubmitted, error) {
	r.Options, r.Storage = r.Options.WithDefaults(), s.String()
	r.Input.Object = Input(r.Key, r.Input.SHA256)
	if err := r.Validate().Err(); err != nil {
		return ledger.JobSubmitted{}, err
	}
	_, err := l.Jobs.Read(ctx, r.Key)
	if errors.Is(err, ledger.ErrNoJob) {
		err = errors.Join(unused(ctx, s, r), present(ctx, s, r.Input))
	}
	if err != nil {
		return ledger.JobSubmitted{}, err
	}
	return l.Jobs.Submit(ctx, r)
}

// present returns nil where the input is in s.
func present(ctx context.Context, s storage.Storage, input job.Input) error {
	object, err := s.Stat(ctx, input.Object)
	switch {
	case errors.Is(err, storage.ErrNotExist):
		return fmt.Errorf("%w: there is no %s in %s; upload it first", ErrInput, input.Object, s)
	case err != nil:
		return fmt.Errorf("looking for the input: %w", err)
	case object.Size != input.Bytes:
		return fmt.Errorf("%w: %s has %d bytes, not %d", ErrInput, input.Object, object.Size, input.Bytes)
	}
	return nil
}

// unused returns nil where no job that the ledger has forgotten had the id.
func unused(ctx context.Context, s storage.Storage, r ledger.JobRequest) error {
	before, err := stored(ctx, s, r.Key)
	if errors.Is(err, storage.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = r.Differs(job.Job{
			Options: before.Options, Input: before.Input, Storage: r.Storage, Redrives: before.Redrives,
		})
	}
	if err == nil {
		err = before.unfinished(ctx, s)
	}
	return err
}

// Keep keeps what was submitted, once and before anything is created at Gemini. A job whose id belongs to
// another one, of which the ledger has no record any more, is ErrExpired or ledger.ErrJobDiffers.
func Keep(ctx context.Context, s storage.Storage, j job.Job) error {
	options := j.AsSubmitted() // a limit that was changed since makes it no other job
	m := manifest{Key: j.Key, JobKind: j.JobKind, Options: options, Input: j.Input, Redrives: j.Redrives}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding what is submitted: %w", err)
	}
	_, err = s.Create(ctx, manifestOf(j.Key), bytes.NewReader(text))
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, storage.ErrExists):
		return fmt.Errorf("storing what is submitted: %w", err)
	}
	return unused(ctx, s, ledger.JobRequest{Key: j.Key, Options: options, Input: j.Input, Storage: j.Storage})
}

func manifestOf(key operation.Key) string { return Folder(key) + "job.json" }

// stored reads the manifest of a job. The error wraps storage.ErrNotExist where there is none.
func stored(ctx context.Context, s storage.Storage, key operation.Key) (manifest, error) {
	var m manifest
	content, err := s.Read(ctx, manifestOf(key), 0, -1)
	if err != nil {
		return m, fmt.Errorf("reading what was submitted as %s: %w", key, err)
	}
	defer content.Close() //nolint:errcheck // it was only read
	if err := json.NewDecoder(io.LimitReader(content, 1<<20)).Decode(&m); err != nil {
		return m, fmt.Errorf("reading what was submitted as %s: %w", key, err)
	}
	return m, nil
}

// unfinished returns nil for a job that has no results: the ledger may not have had it yet.
func (m manifest) unfinished(ctx context.Context, s storage.Storage) error {
	name := Output(job.Job{Key: m.Key, Input: m.Input}, Results)
	_, err := s.Stat(ctx, name)
	switch {
	case errors.Is(err, storage.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("looking for results of %s: %w", m.Key, err)
	}
	return fmt.Errorf("%w: its results are in %s/%s; choose another id", ErrExpired, s, name)
}
