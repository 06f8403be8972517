package storage

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Create implements [Storage]. The content goes to a temporary file, which is synced, then linked to the
// name, which replaces nothing; then every folder that leads to the name is synced.
func (f *folder) Create(ctx context.Context, name string, content io.Reader) (Object, error) {
	if err := checkName(name); err != nil {
		return Object{}, err
	}
	from := &measured{ctx: ctx, from: content}
	err := f.inside(func(root *os.Root) error { return f.createIn(root, name, from) })
	switch failure := from.failure(); {
	case failure != nil:
		return Object{}, failure
	case errors.Is(err, ErrExists):
		return Object{}, fmt.Errorf("%w: %s", err, f.url(name))
	case err != nil:
		return Object{}, fmt.Errorf("writing %s: %w", f.url(name), err)
	}
	return Object{Name: name, Size: from.size, CRC32C: from.sum}, nil
}

// createIn creates a file. ErrExists: one has the name, and is durable.
func (f *folder) createIn(root *os.Root, name string, content io.Reader) error {
	if _, err := root.Lstat(name); err == nil { // which saves the writing; the link decides
		return cmp.Or(syncTo(root, name), ErrExists)
	}
	temporary, err := f.temporary(root)
	if err != nil {
		return err
	}
	defer root.Remove(temporary.name) //nolint:errcheck // a later Check finds it
	if _, err := io.CopyBuffer(temporary, content, make([]byte, copied)); err != nil {
		return cmp.Or(err, temporary.Close())
	}
	return f.finish(root, temporary, name)
}

// finish gives a temporary file its name. ErrExists: one has the name, and is durable.
func (f *folder) finish(root *os.Root, temporary *temporaryFile, name string) error {
	if err := cmp.Or(temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	err := f.link(root, temporary.name, name)
	if errors.Is(err, fs.ErrExist) {
		err = ErrExists
	} else if err != nil {
		return err
	}
	return cmp.Or(syncTo(root, name), err)
}

// copied is how many bytes are copied at once. An object may have gigabytes.
const copied = 256 << 10

// A temporaryFile is a file whose name is below [unfinished].
type temporaryFile struct {
	file
	name string
}

func (f *folder) temporary(root *os.Root) (*temporaryFile, error) {
	if err := root.MkdirAll(path.Clean(unfinished), 0o700); err != nil {
		return nil, err
	}
	name := unfinished + rand.Text()
	created, err := f.create(root, name)
	if err != nil {
		return nil, err
	}
	return &temporaryFile{file: created, name: name}, nil
}

// inside runs do in the folder, which it makes if it is not there.
func (f *folder) inside(do func(root *os.Root) error) error {
	root, err := f.openRoot()
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // what counts is synced
	return do(root)
}

// openRoot opens the folder, which it makes if it is not there.
func (f *folder) openRoot() (*os.Root, error) {
	root, err := os.OpenRoot(f.path)
	if !errors.Is(err, fs.ErrNotExist) {
		return root, err
	}
	if err := makeFolder(f.path); err != nil {
		return nil, err
	}
	return os.OpenRoot(f.path)
}

// makeFolder makes a folder, and those above it that are not there, durably.
func makeFolder(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if parent := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && parent != dir {
		if err := makeFolder(parent); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) { // another process may have made it just now
		return err
	}
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close() //nolint:errcheck // it was only synced
	return SyncFolder(parent, ".")
}

// syncTo makes a name durable. It syncs each folder above it: another process may have made one, and not
// have synced it yet.
func syncTo(root *os.Root, name string) error {
	for name != "." {
		name = path.Dir(name)
		if err := SyncFolder(root, name); err != nil {
			return err
		}
	}
	return nil
}

// Compose implements [Storage]. It copies the sources one after the other.
func (f *folder) Compose(ctx context.Context, name string, sources []Object) (Object, error) {
	chain := &chained{ctx: ctx, of: f, rest: sources}
	defer chain.close()
	return f.Create(ctx, name, chain)
}
