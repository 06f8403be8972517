package submission

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/storage"
)

// A draft is a canonical input whose digest, and so its name, is not known yet.
type draft interface {
	io.Writer
	// Commit makes an object of it, unless one has the name.
	Commit(ctx context.Context, name string) (storage.Object, error)
	Discard() error
}

// draft begins a draft in s. A bucket has none: there the input is written to a temporary file, and copied.
func (in jobInput) draft(s storage.Storage) (draft, error) {
	inside, err := storage.NewDraft(s)
	if err != nil {
		return nil, terminal.Unread(err)
	}
	if inside != nil {
		return inside, nil
	}
	temporary, err := os.CreateTemp("", "opledger-job-*.jsonl")
	if err != nil {
		return nil, fmt.Errorf("making a file for the canonical input: %w; $TMPDIR chooses the folder", err)
	}
	return copied{File: temporary, of: in, to: s}, nil
}

// A copied is a draft in a temporary file.
type copied struct {
	*os.File
	of jobInput
	to storage.Storage
}

// Commit implements draft.
func (c copied) Commit(ctx context.Context, name string) (storage.Object, error) {
	if _, err := c.Seek(0, io.SeekStart); err != nil {
		return storage.Object{}, fmt.Errorf("reading the canonical input: %w", err)
	}
	p := terminal.NewProgress(c.of.outside)
	defer p.End()
	return c.to.Create(ctx, name, &reader{ctx: ctx, name: "job storage", content: c.File, progress: p})
}

// Discard implements draft.
func (c copied) Discard() error {
	_ = c.Close() // it is of no further use
	return os.Remove(c.Name())
}

// store creates the input in job storage. One that is there is the same: its name has its digest.
func store(ctx context.Context, s storage.Storage, d draft, name string) error {
	if _, err := d.Commit(ctx, name); err != nil && !errors.Is(err, storage.ErrExists) {
		return fmt.Errorf("storing the input in %s: %w; the same command again is safe", s, err)
	}
	return nil
}
