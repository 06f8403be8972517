package storage

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
)

// A Draft is an object whose content is known before its name is, such as one that is named by its digest: it is
// written once, and not copied. It must be ended by Discard. It is not safe for concurrent use.
type Draft struct {
	of        *folder
	root      *os.Root
	temporary *temporaryFile
	object    Object
}

// NewDraft begins a draft in a folder. It returns nil for a bucket, which names an object before its content
// comes. A crash leaves a draft where it leaves the bytes of Create.
func NewDraft(s Storage) (*Draft, error) {
	f, ok := s.(*folder)
	if !ok {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	root, err := f.openRoot()
	if err != nil {
		return nil, fmt.Errorf("beginning an object in %s: %w", f, err)
	}
	temporary, err := f.temporary(root)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("beginning an object in %s: %w", f, err), root.Close())
	}
	return &Draft{of: f, root: root, temporary: temporary}, nil
}

// Write implements io.Writer.
func (d *Draft) Write(p []byte) (int, error) {
	n, err := d.temporary.Write(p)
	d.object.Size += int64(n)
	d.object.CRC32C = crc32.Update(d.object.CRC32C, castagnoli, p[:n])
	if err != nil {
		err = fmt.Errorf("writing an object in %s: %w", d.of, err)
	}
	return n, err
}

// Commit makes an object of what was written, as [Storage] Create does. Nothing can be written afterwards.
func (d *Draft) Commit(ctx context.Context, name string) (Object, error) {
	err := checkName(name)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return Object{}, err
	}
	switch err := d.of.finish(d.root, d.temporary, name); {
	case errors.Is(err, ErrExists):
		return Object{}, fmt.Errorf("%w: %s", err, d.of.url(name))
	case err != nil:
		return Object{}, fmt.Errorf("writing %s: %w", d.of.url(name), err)
	}
	d.object.Name = name
	return d.object, nil
}

// Discard deletes what was written, but for the object that Commit has made of it.
func (d *Draft) Discard() error {
	_ = d.temporary.Close() // Commit has closed it, or it is of no use
	err := d.root.Remove(d.temporary.name)
	if errors.Is(err, fs.ErrNotExist) { // a later Check has found it
		err = nil
	}
	if err := errors.Join(err, d.root.Close()); err != nil {
		return fmt.Errorf("deleting a draft in %s: %w", d.of, err)
	}
	return nil
}
