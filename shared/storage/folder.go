package storage

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A folder is a Storage in a folder of a file system, which must have hard links. Each object is a file
// of its name. No name leads out of it, nor does a symbolic link in it. Empty folders stay.
type folder struct {
	path string
	now  func() time.Time
	// create and link are the file system's; tests inject errors such as ENOSPC.
	create func(root *os.Root, name string) (file, error)
	link   func(root *os.Root, from, name string) error
}

// A file is one that is being written.
type file interface {
	io.WriteCloser
	Sync() error
}

func newFolder(path string) *folder {
	return &folder{
		path: path, now: time.Now, link: (*os.Root).Link,
		create: func(root *os.Root, name string) (file, error) {
			return root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		},
	}
}

// String implements [Storage].
func (f *folder) String() string { return (&url.URL{Scheme: "file", Path: toSlash(f.path)}).String() }

// toSlash returns a folder's whole path as a URL has it: also C:\jobs begins with a slash.
func toSlash(folder string) string { return "/" + strings.TrimPrefix(filepath.ToSlash(folder), "/") }

// fromSlash is the inverse of toSlash.
func fromSlash(slashed string) string {
	local := filepath.FromSlash(strings.TrimPrefix(slashed, "/"))
	if filepath.IsAbs(local) { // C:\jobs
		return filepath.Clean(local)
	}
	return filepath.Clean(filepath.FromSlash(slashed))
}

func (f *folder) url(name string) string { return f.String() + "/" + name }

// find returns the size of a file, and the folder, which the caller closes. What is no regular file does
// not exist.
func (f *folder) find(name string) (root *os.Root, size int64, err error) {
	if root, err = os.OpenRoot(f.path); err != nil {
		return nil, 0, err
	}
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = root.Close() // it was only read
		return nil, 0, err
	}
	return root, info.Size(), nil
}

// isAbsent reports whether an error says that there is no file: also where its folder is a file.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Read implements [Storage].
func (f *folder) Read(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	opened, length, err := f.open(name, offset, length)
	if isAbsent(err) {
		return nil, fmt.Errorf("%w: %s", ErrNotExist, f.url(name))
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.url(name), err)
	}
	return &ranged{ctx: ctx, from: opened, left: length, of: f.url(name)}, nil
}

// open opens a file at an offset, and returns how many bytes of it the range has.
func (f *folder) open(name string, offset, length int64) (*os.File, int64, error) {
	root, size, err := f.find(name)
	if err != nil {
		return nil, 0, err
	}
	defer root.Close() //nolint:errcheck // it was only read
	if length, err = lengthOf(size, offset, length); err != nil {
		return nil, 0, err
	}
	opened, err := root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	if _, err := opened.Seek(offset, io.SeekStart); err != nil {
		_ = opened.Close() // nothing of it is read
		return nil, 0, err
	}
	return opened, length, nil
}

// Stat implements [Storage].
func (f *folder) Stat(ctx context.Context, name string) (Object, error) {
	content, err := f.Read(ctx, name, 0, -1)
	if err != nil {
		return Object{}, err
	}
	defer content.Close() //nolint:errcheck // it was only read
	sum := crc32.New(castagnoli)
	size, err := io.Copy(sum, content)
	if err != nil {
		return Object{}, err
	}
	return Object{Name: name, Size: size, CRC32C: sum.Sum32()}, nil
}

// Delete implements [Storage].
func (f *folder) Delete(_ context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := f.remove(name); err != nil && !isAbsent(err) {
		return fmt.Errorf("deleting %s: %w", f.url(name), err)
	}
	return nil
}

func (f *folder) remove(name string) error {
	root, _, err := f.find(name)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // what counts is synced
	if err := root.Remove(name); err != nil {
		return err
	}
	return SyncFolder(root, path.Dir(name))
}

// Check implements [Storage]. It writes a file, and deletes it.
func (f *folder) Check(context.Context) error {
	err := f.inside(func(root *os.Root) error {
		probe, err := f.temporary(root)
		if err != nil {
			return err
		}
		defer root.Remove(probe.name) //nolint:errcheck // a later Check finds it
		f.tidy(root)
		return probe.Close()
	})
	if err != nil {
		return fmt.Errorf("objects cannot be stored in %s: %w; name a folder that this user can write", f, err)
	}
	return nil
}

// tidy deletes temporary files of which no write is under way. What it cannot delete the next Check may.
func (f *folder) tidy(root *os.Root) {
	entries, err := fs.ReadDir(root.FS(), path.Clean(unfinished))
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && f.now().Sub(info.ModTime()) > keepUnfinished {
			_ = root.Remove(unfinished + entry.Name()) // as above
		}
	}
}
