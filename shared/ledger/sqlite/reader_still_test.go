package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// unseal lets the owner write again in what seal sealed.
func unseal(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	err = errors.Join(err, os.Chmod(dir, 0o755)) //nolint:gosec // another user reads it
	for _, file := range files {
		err = errors.Join(err, os.Chmod(filepath.Join(dir, file.Name()), 0o644)) //nolint:gosec // the same
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestReaderSeesLaterWrites: a reader that could not share the file's lock sees what a program writes to
// it later: while that has it open, when it was closed, and when another file was put in its place.
func TestReaderSeesLaterWrites(t *testing.T) {
	t.Parallel()
	dir := shelf(t)
	path := filepath.Join(dir, "ledger.db")
	writes := func(path, id string, also func()) {
		t.Helper()
		writer, err := Open(t.Context(), path, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		record(t, writer, id, operation.Succeeded)
		also()
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
	}
	writes(path, "a", func() {})
	seal(t, dir)
	var reader *Store
	asReader(t, func() {
		var err error
		if reader, err = OpenReader(t.Context(), path, time.Now); err != nil {
			t.Fatal(err)
		}
	})
	defer func() {
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}()
	if reader.still == nil {
		t.Fatal("the file was opened as any other: this test tests nothing")
	}
	sees := func(when, want string) {
		t.Helper()
		asReader(t, func() {
			if got, _, _ := strings.Cut(found(t, reader), ","); got != want {
				t.Errorf("%s the reader found %q, want %q", when, got, want)
			}
			n, err := reader.Count(t.Context(), ledger.Query{
				Collection: ledger.OperationsCollection, OrderBy: ledger.FieldCreatedAt,
			}, 10)
			if err != nil || n != len(strings.Fields(want)) {
				t.Errorf("%s the reader counted %d, %v", when, n, err)
			}
			key := operation.Key("batches/" + want[:1])
			s, err := reader.Get(t.Context(), ledger.OperationPath(key))
			if err != nil || !s.Documents[0].Exists() {
				t.Errorf("%s the reader has no %s: %v", when, key, err)
			}
		})
	}
	sees("at first", "a")

	unseal(t, dir)
	writes(path, "b", func() {}) // and its log is gone
	seal(t, dir)
	sees("after a write", "b a")
	if reader.still.file == nil {
		t.Error("the file is read as any other, although no program has it open")
	}

	other := filepath.Join(shelf(t), "other.db")
	writes(other, "z", func() {})
	unseal(t, dir)
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	seal(t, dir)
	sees("after the file was replaced", "z")

	unseal(t, dir)
	writes(path, "y", func() {
		seal(t, dir)
		sees("while it is written", "y z")
		unseal(t, dir)
	})
	sees("when the writer has closed it", "y z")
}

// TestReaderOfAFileThatIsGone: the reader does not go on with what it has read before.
func TestReaderOfAFileThatIsGone(t *testing.T) {
	t.Parallel()
	dir := shelf(t)
	path := filepath.Join(dir, "ledger.db")
	writer, err := Open(t.Context(), path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	record(t, writer, "a", operation.Succeeded)
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	seal(t, dir)
	asReader(t, func() {
		reader, err := OpenReader(t.Context(), path, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := reader.Close(); err != nil {
				t.Error(err)
			}
		}()
		reader.still.path += "-gone" // as where another user has deleted it
		_, err = reader.Get(t.Context(), ledger.OperationPath("batches/a"))
		if !errors.Is(err, ledger.ErrUnavailable) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Get: %v, want ErrUnavailable", err)
		}
	})
}

// TestReaderOfALogThatCannotBeFound: commits may be in it, so the file alone is not read as the ledger.
func TestReaderOfALogThatCannotBeFound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	writer, err := Open(t.Context(), path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Base(path)+"-wal", path+"-wal"); err != nil { // it leads to itself
		t.Fatal(err)
	}
	if reader, err := OpenReader(t.Context(), path, time.Now); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("%v, want ELOOP", err)
		if err == nil {
			t.Error(reader.Close())
		}
	}
}
