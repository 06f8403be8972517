package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
)

// Names implements [Storage]. It holds the names of one folder at a time, and of those above it.
func (f *folder) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := checkPrefix(prefix); err != nil {
			yield("", err)
			return
		}
		root, err := os.OpenRoot(f.path)
		if errors.Is(err, fs.ErrNotExist) {
			return // nothing was stored so far
		}
		if err != nil {
			yield("", fmt.Errorf("listing %s: %w", f, err))
			return
		}
		defer root.Close() //nolint:errcheck // it was only read
		list := &listing{ctx: ctx, files: root.FS(), prefix: prefix, yield: yield, of: f}
		list.folder(path.Dir(prefix + "x"))
	}
}

// A listing yields the names of files that begin with a prefix.
type listing struct {
	ctx    context.Context
	files  fs.FS
	prefix string
	yield  func(string, error) bool
	of     *folder
}

// folder yields the names in a folder, and reports whether more are wanted. The order is that of whole
// names: a folder counts with its slash.
func (l *listing) folder(dir string) bool {
	entries, err := fs.ReadDir(l.files, dir)
	if isAbsent(err) {
		return true // a prefix of no name, or deleted just now
	}
	if err = errors.Join(l.ctx.Err(), err); err != nil {
		l.yield("", fmt.Errorf("listing %s: %w", l.of.url(dir), err))
		return false
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(slashed(a), slashed(b)) })
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		switch {
		case !strings.HasPrefix(name, l.prefix) || !isName(name): // such as what is unfinished
		case entry.IsDir():
			if !l.folder(name) {
				return false
			}
		case entry.Type().IsRegular():
			if !l.yield(name, nil) {
				return false
			}
		}
	}
	return true
}

func slashed(entry fs.DirEntry) string {
	if entry.IsDir() {
		return entry.Name() + "/"
	}
	return entry.Name()
}
