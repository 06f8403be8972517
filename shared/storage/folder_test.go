package storage_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/storage"
)

// TestFolderCheck: a folder is made where it can be; a crash's temporary file is no object, and is deleted
// a day later.
func TestFolderCheck(t *testing.T) {
	t.Parallel()
	w := newFolder(t)
	for range 2 {
		if err := w.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}
	left := filepath.Join(w.folder, ".unfinished", "CRASHED")
	if err := os.WriteFile(left, []byte("half of an obj"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.create("a", "x")
	w.lists("", "a")
	info, err := os.Stat(left)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		left  int
	}{{24 * time.Hour, 1}, {24*time.Hour + time.Second, 0}} {
		storage.SetClock(w.Storage, func() time.Time { return info.ModTime().Add(c.after) })
		if err := w.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if n := w.unfinished(); n != c.left {
			t.Errorf("%s later %d are left", c.after, n)
		}
	}
	w.holds("a", "x")
	below := opened(t, filepath.Join(w.folder, "a"), "")
	if err := below.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "name a folder that this user can") {
		t.Errorf("a file is a folder: %v", err)
	}
}

// TestFolderIsOwn: what is stored is this user's alone.
func TestFolderIsOwn(t *testing.T) {
	t.Parallel()
	w := newFolder(t)
	w.create("a/b", "x")
	for name, want := range map[string]fs.FileMode{
		"../../new": fs.ModeDir | 0o700, ".": fs.ModeDir | 0o700, "a": fs.ModeDir | 0o700, "a/b": 0o600,
	} {
		if info, err := os.Stat(filepath.Join(w.folder, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v, want %v", name, info.Mode(), err, want)
		}
	}
}

// TestFolderKeepsIn: a symbolic link leads nowhere, also one to a folder.
func TestFolderKeepsIn(t *testing.T) {
	t.Parallel()
	w := newFolder(t)
	w.create("a", "x")
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(outside, filepath.Join(w.folder, "folder")),
		os.Symlink(filepath.Join(outside, "secret"), filepath.Join(w.folder, "file"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"folder/secret", "file"} {
		if got, err := w.read(name, 0, -1); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := w.Create(t.Context(), "folder/mine", strings.NewReader("x")); err == nil {
		t.Error("an object is outside")
	}
	_ = w.Delete(t.Context(), "folder/secret") // whatever it says
	w.lists("", "a")
	if left, err := os.ReadDir(outside); err != nil || len(left) != 1 || left[0].Name() != "secret" {
		t.Errorf("%v %v", left, err)
	}
}

// TestFolderIsCut: a file that became shorter while it is read is not taken for the whole.
func TestFolderIsCut(t *testing.T) {
	t.Parallel()
	w := newFolder(t)
	w.create("a", strings.Repeat("x", 100_000))
	from, err := w.Read(t.Context(), "a", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close() //nolint:errcheck // it was only read
	if err := os.Truncate(filepath.Join(w.folder, "a"), 50_000); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(from); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 50_000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestFolderIsShared: what one process stores, another finds.
func TestFolderIsShared(t *testing.T) {
	t.Parallel()
	w := newFolder(t)
	other := &world{Storage: opened(t, w.String(), ""), t: t, folder: w.folder}
	w.create("a/b", "x")
	other.holds("a/b", "x")
	other.create("a/c", "y")
	w.lists("a/", "a/b", "a/c")
}
