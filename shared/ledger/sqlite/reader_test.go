package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// shelf is a directory that is read-only to the code under test once sealed.
func shelf(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "opledger-shelf-") // and not t.TempDir, which the owner alone enters
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(os.Chmod(dir, 0o700), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// seal makes a directory and its files read-only.
func seal(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	for _, file := range files {
		err = errors.Join(err, os.Chmod(filepath.Join(dir, file.Name()), 0o444))
	}
	if err = errors.Join(err, os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
}

// record writes an operation with a state.
func record(t *testing.T, s *Store, id string, state operation.State) {
	t.Helper()
	key := operation.Key("batches/" + id)
	now := time.Now()
	rec := operation.Record{
		Schema: 1, Version: 1, Key: key, Collection: operation.Batches, State: state,
		Submission: operation.Submission{JobKind: "nightly"}, CreatedAt: now,
		SettledAt: now,
	}
	if _, err := s.Commit(t.Context(), ledger.Write{Path: ledger.OperationPath(key), Data: rec}); err != nil {
		t.Fatal(err)
	}
}

// found returns the ids that some filters find, and the newest ends.
func found(t *testing.T, s *Store) string {
	t.Helper()
	l, err := ledger.New(s, ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	add := func(page ledger.Page[operation.Record], err error) {
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, rec := range page.Items {
			keys = append(keys, strings.TrimPrefix(string(rec.Key), "batches/"))
		}
		words = append(words, strings.Join(keys, " "))
	}
	failed := []operation.State{operation.Failed}
	for _, f := range []ledger.Filter{
		{}, {States: failed}, {Collection: operation.Batches}, {States: failed, Collection: operation.Batches},
		{JobKind: "nightly"}, {Dead: true}, {Conflict: true},
	} {
		f.Limit = 10
		add(l.Operations.List(t.Context(), f))
	}
	add(l.Operations.Ends(t.Context(), ledger.Cursor{}, 10))
	return strings.Join(words, ",")
}

// TestReader: a file in a directory that one may only read is read, whether or not a program has it
// open, and nothing is written.
func TestReader(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{false, true} {
		t.Run(fmt.Sprintf("open %t", open), func(t *testing.T) {
			t.Parallel()
			dir := shelf(t)
			path := filepath.Join(dir, "ledger.db")
			writer, err := Open(t.Context(), path, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			record(t, writer, "a", operation.Succeeded)
			record(t, writer, "b", operation.Failed)
			if !open {
				if err := writer.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				defer func() {
					if err := errors.Join(os.Chmod(dir, 0o700), writer.Close()); err != nil {
						t.Error(err)
					}
				}()
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
				if got := found(t, reader); got != "b a,b,b a,b,b a,,,b a" {
					t.Errorf("found %q", got)
				}
				write := ledger.Write{Path: "operations/x", Data: operation.Record{}}
				if _, err := reader.Commit(t.Context(), write); !errors.Is(err, ledger.ErrInvalid) {
					t.Errorf("Commit: %v", err)
				}
				if _, err := reader.Expire(t.Context()); !errors.Is(err, ledger.ErrInvalid) {
					t.Errorf("Expire: %v", err)
				}
			})
		})
	}
}

// TestReaderRefuses: what is no ledger is refused with what to do, and nothing is created.
func TestReaderRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.WriteFile(at("empty"), nil, 0o600), os.WriteFile(at("text"), []byte(strings.Repeat("no database ", 99)), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	raw(t, at("other"), "CREATE TABLE users (name TEXT)")
	raw(t, at("newer"), "CREATE TABLE documents (path TEXT); PRAGMA user_version = 99")
	for name, want := range map[string]string{
		"missing": "no such file", "empty": "no ledger was written to it yet", "text": "name another file",
		".":     "name the file",
		"other": "a database of another program: name another file", "newer": "the file has schema 99",
	} {
		before, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		store, err := OpenReader(t.Context(), at(name), time.Now)
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, fs.ErrNotExist) != (name == "missing") {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if store != nil {
			t.Errorf("%s: there is a store", name)
		}
		if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
			t.Errorf("%s: there were %v and are %v, %v", name, before, after, err)
		}
	}
}

// TestReaderLeavesNothing: reading a file changes nothing in its directory.
func TestReaderLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	writer, err := Open(t.Context(), path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	record(t, writer, "a", operation.Succeeded)
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := OpenReader(t.Context(), path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if got := found(t, reader); !strings.HasPrefix(got, "a,") {
		t.Errorf("found %q", got)
	}
	if _, err := reader.read.ExecContext(t.Context(), "DELETE FROM documents"); err == nil {
		t.Error("a connection of the reader wrote")
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	files, dirErr := os.ReadDir(dir)
	if changed := string(after) != string(before); err != nil || dirErr != nil || changed || len(files) != 1 {
		t.Errorf("the file changed: %t; there are %v, %v, %v", changed, files, err, dirErr)
	}
}

// TestReaderOfACopy: a copy with commits that only its log has is not read without them.
func TestReaderOfACopy(t *testing.T) {
	t.Parallel()
	dir, copied := t.TempDir(), shelf(t)
	writer, err := Open(t.Context(), filepath.Join(dir, "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	record(t, writer, "a", operation.Succeeded)
	for _, name := range []string{"ledger.db", "ledger.db-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err = errors.Join(err, os.WriteFile(filepath.Join(copied, name), data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	seal(t, copied)
	asReader(t, func() {
		_, err := OpenReader(t.Context(), filepath.Join(copied, "ledger.db"), time.Now)
		if err == nil || !strings.Contains(err.Error(), "ledger.db-wal: copy both") {
			t.Errorf("OpenReader: %v", err)
		}
	})
}
