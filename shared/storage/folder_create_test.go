package storage_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/opledger/opledger/shared/storage"
)

// TestCreateBreaks: whatever the file system refuses, the error has its cause, there is no object, and the
// next call makes it.
func TestCreateBreaks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breaks func(storage.Storage)
		err    error
	}{
		"the disk is full": {func(s storage.Storage) { storage.BreakFiles(s, 70_000, syscall.ENOSPC) },
			syscall.ENOSPC},
		"the disk cannot sync":    {func(s storage.Storage) { storage.BreakFiles(s, 1<<20, syscall.EIO) }, syscall.EIO},
		"there are no hard links": {func(s storage.Storage) { storage.RefuseLinks(s, syscall.EPERM) }, syscall.EPERM},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFolder(t)
			broken := opened(t, w.folder, "")
			c.breaks(broken)
			content := strings.Repeat("x", 100_000)
			_, err := broken.Create(t.Context(), "a/b", strings.NewReader(content))
			if !errors.Is(err, c.err) || !strings.Contains(err.Error(), "writing "+w.String()+"/a/b: ") {
				t.Error(err)
			}
			w.lists("")
			if n := w.unfinished(); n != 0 {
				t.Errorf("%d are left", n)
			}
			w.create("a/b", content)
			w.holds("a/b", content)
		})
	}
}

// TestCreateLoses: another process that links the name first has made the object.
func TestCreateLoses(t *testing.T) {
	t.Parallel()
	w := newFolder(t)
	slow := opened(t, w.folder, "")
	storage.BeforeLinks(slow, func() { w.create("a", "first") })
	if _, err := slow.Create(t.Context(), "a", strings.NewReader("second")); !errors.Is(err, storage.ErrExists) {
		t.Error(err)
	}
	w.holds("a", "first")
	if n := w.unfinished(); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// TestCreateInTheWay: a file where a folder is wanted is an error, not an object of the name.
func TestCreateInTheWay(t *testing.T) {
	t.Parallel()
	w := newFolder(t)
	w.create("a", "x")
	if _, err := w.Create(t.Context(), "a/b", strings.NewReader("y")); err == nil || errors.Is(err, storage.ErrExists) {
		t.Error(err)
	}
	w.holds("a", "x")
	below := opened(t, filepath.Join(w.folder, "a", "jobs"), "")
	if _, err := below.Create(t.Context(), "b", strings.NewReader("y")); err == nil || errors.Is(err, storage.ErrExists) {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(w.folder, "a")); err != nil {
		t.Fatal(err)
	}
	if _, err := below.Create(t.Context(), "b", strings.NewReader("y")); err != nil {
		t.Error(err)
	}
}
