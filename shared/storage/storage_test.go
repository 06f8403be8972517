package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opledger/opledger/shared/storage"
)

// TestCreate: an object is what it was made of, whatever its size, and another of its name is refused.
func TestCreate(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		for i, size := range []int{0, 1, 256<<10 - 1, 256 << 10, 256<<10 + 1, 1<<20 + 7} {
			name, content := fmt.Sprintf("review-17/%d.jsonl", i), strings.Repeat("line ", size/5+1)[:size]
			w.create(name, content)
			w.holds(name, content)
			for _, other := range []string{"", content, strings.Repeat("other", 100_000)} {
				if _, err := w.Create(t.Context(), name, strings.NewReader(other)); !errors.Is(err, storage.ErrExists) ||
					!strings.Contains(err.Error(), w.String()+"/"+name) {
					t.Errorf("%s again: %v", name, err)
				}
			}
			w.holds(name, content)
		}
		if n := w.unfinished(); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

// TestContentFails: where content cannot be read, its error is returned, and there is no object.
func TestContentFails(t *testing.T) {
	t.Parallel()
	why := errors.New("the download broke off")
	onEach(t, func(t *testing.T, w *world) {
		for _, size := range []int{0, 10, 700_000} {
			content := broken{strings.NewReader(strings.Repeat("x", size)), why}
			if _, err := w.Create(t.Context(), "a", content); err != why { //nolint:errorlint // as it is
				t.Errorf("behind %d bytes: %v", size, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		stops := readerFunc(func(p []byte) (int, error) {
			cancel()
			return len(p), nil
		})
		if _, err := w.Create(ctx, "a", stops); !errors.Is(err, context.Canceled) {
			t.Errorf("over: %v", err)
		}
		w.lists("")
		if n := w.unfinished(); n != 0 {
			t.Errorf("%d are left", n)
		}
		w.create("a", "whole")
		w.holds("a", "whole")
	})
}

type readerFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestCreateAtOnce: of several processes that create one name, exactly one does, also of equal bytes.
func TestCreateAtOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		const processes = 8
		var all sync.WaitGroup
		begin, won := make(chan struct{}), make(chan int, processes)
		for i := range processes {
			all.Go(func() {
				<-begin
				_, err := w.Create(t.Context(), "jobs/one/job.json", strings.NewReader(strings.Repeat(fmt.Sprint(i%2), 300_000)))
				switch {
				case err == nil:
					won <- i
				case !errors.Is(err, storage.ErrExists):
					t.Error(err)
				}
			})
		}
		close(begin)
		all.Wait()
		close(won)
		winners := slices.Collect(values(won))
		if len(winners) != 1 {
			t.Fatalf("%v have created it", winners)
		}
		w.holds("jobs/one/job.json", strings.Repeat(fmt.Sprint(winners[0]%2), 300_000))
	})
}

func values[T any](from chan T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for value := range from {
			if !yield(value) {
				return
			}
		}
	}
}

// TestRead: a range is whole, or an error.
func TestRead(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		w.create("digits", "0123456789")
		w.create("empty", "")
		for _, c := range []struct {
			name           string
			offset, length int64
			want           string
			err            error
		}{
			{"digits", 0, -1, "0123456789", nil},
			{"digits", 0, 10, "0123456789", nil},
			{"digits", 0, 3, "012", nil},
			{"digits", 4, 3, "456", nil},
			{"digits", 7, -1, "789", nil},
			{"digits", 7, 3, "789", nil},
			{"digits", 5, 0, "", nil},
			{"digits", 10, -1, "", nil},
			{"digits", 10, 0, "", nil},
			{"empty", 0, -1, "", nil},
			{"empty", 0, 0, "", nil},
			{"digits", 7, 4, "", io.ErrUnexpectedEOF},
			{"digits", 0, 11, "", io.ErrUnexpectedEOF},
			{"digits", 10, 1, "", io.ErrUnexpectedEOF},
			{"digits", 11, -1, "", io.ErrUnexpectedEOF},
			{"digits", 11, 0, "", io.ErrUnexpectedEOF},
			{"empty", 0, 1, "", io.ErrUnexpectedEOF},
			{"absent", 0, -1, "", storage.ErrNotExist},
			{"absent", 3, 4, "", storage.ErrNotExist},
			{"absent", 0, 0, "", storage.ErrNotExist},
			{"digits/below", 0, -1, "", storage.ErrNotExist},
		} {
			got, err := w.read(c.name, c.offset, c.length)
			if got != c.want || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) ||
				err != nil && !strings.Contains(err.Error(), w.String()+"/"+c.name) {
				t.Errorf("%s from %d, %d bytes: %q %v, want %q %v", c.name, c.offset, c.length, got, err, c.want, c.err)
			}
		}
		if _, err := w.read("digits", -1, 3); err == nil || !strings.Contains(err.Error(), "before the first byte") {
			t.Errorf("before the first byte: %v", err)
		}
		w.stops()
	})
}

// stops checks that a read ends with its context.
func (w *world) stops() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	from, err := w.Read(ctx, "digits", 0, -1)
	if err != nil {
		w.t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(from); !errors.Is(err, context.Canceled) {
		w.t.Errorf("a read that is over: %v", err)
	}
	if err := from.Close(); err != nil {
		w.t.Error(err)
	}
}

// TestDelete: an object that was deleted is gone, and one that is gone is no error.
func TestDelete(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		if err := w.Delete(t.Context(), "a/b"); err != nil {
			t.Errorf("before anything is stored: %v", err)
		}
		w.create("a/b", "x")
		for _, name := range []string{"a", "a/b", "a/b", "a/b/c"} { // no name is a, and what is there is no folder
			if err := w.Delete(t.Context(), name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := w.Stat(t.Context(), "a/b"); !errors.Is(err, storage.ErrNotExist) {
			t.Error(err)
		}
		w.lists("")
		w.create("a/b", "another")
		w.holds("a/b", "another")
	})
}

// TestNames: names come in the order of their bytes, over many pages, and no more of them than wanted.
func TestNames(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		w.lists("")
		w.lists("a/b")
		for _, name := range []string{"a/b/2", "a-b", "a/b/1", "a.b", "a/b-1", "b", "a/b/1-a/c", "a0", "A"} {
			w.create(name, "x")
		}
		w.lists("", "A", "a-b", "a.b", "a/b-1", "a/b/1", "a/b/1-a/c", "a/b/2", "a0", "b")
		w.lists("a/", "a/b-1", "a/b/1", "a/b/1-a/c", "a/b/2")
		w.lists("a/b", "a/b-1", "a/b/1", "a/b/1-a/c", "a/b/2")
		w.lists("a/b/1", "a/b/1", "a/b/1-a/c")
		w.lists("b/")
		w.lists("c/d")
		for range w.Names(t.Context(), "a/") {
			break
		}
		for name, err := range w.Names(cancelled(t), "") {
			if name != "" || !errors.Is(err, context.Canceled) {
				t.Errorf("where the time is over: %q %v", name, err)
			}
		}
	})
}

// TestNoName: no method takes what may lead out of the storage, or is not finished.
func TestNoName(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		for _, name := range []string{
			"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/..", ".unfinished/a", "a/.b", "a b", "a\\b", "ä",
			"a\x00", "C:a", strings.Repeat("a", 601),
		} {
			_, err := w.Create(t.Context(), name, strings.NewReader("x"))
			_, composeErr := w.Compose(t.Context(), name, nil)
			_, sourceErr := w.Compose(t.Context(), "composed", []storage.Object{{Name: name}})
			_, readErr := w.read(name, 0, -1)
			_, statErr := w.Stat(t.Context(), name)
			for method, err := range map[string]error{
				"Create": err, "Compose": composeErr, "a source": sourceErr, "Read": readErr, "Stat": statErr,
				"Delete": w.Delete(t.Context(), name),
			} {
				if err == nil || !strings.Contains(err.Error(), "is not segments of letters") {
					t.Errorf("%s of %.50q: %v", method, name, err)
				}
			}
		}
		for _, prefix := range []string{"/", "..", "../", "a/../", "a//", ".unfinished/", "a b"} {
			for name, err := range w.Names(t.Context(), prefix) {
				if name != "" || err == nil {
					t.Errorf("names from %q: %q, %v", prefix, name, err)
				}
			}
		}
		w.create(strings.Repeat("a", 200)+"/"+strings.Repeat("b", 200)+"/"+strings.Repeat("c", 198), "x")
	})
}

// TestOpen: a storage names itself alike wherever it is opened, and that name opens it.
func TestOpen(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]string{
		"gs://abc": "gs://abc", "gs://abc/": "gs://abc", "gs://abc/a/b/": "gs://abc/a/b",
		"jobs": "file://" + here + "/jobs", "./jobs/../x": "file://" + here + "/x",
		"/var/lib/my jobs/": "file:///var/lib/my%20jobs", "file:///var/lib/my%20jobs": "file:///var/lib/my%20jobs",
		"/": "file:///",
	} {
		s := opened(t, location, "")
		if s.String() != want || opened(t, s.String(), "").String() != want {
			t.Errorf("%s is %s, want %s", location, s, want)
		}
	}
	for location, want := range map[string]string{
		"": "is empty", "gs://": "gs://BUCKET", "gs://A": "3 to 222", "gs://abc/../x": "prefix", "s3://abc": "neither gs://",
		"file://host/x": "whole path", "file:x": "", "file://jobs": "whole path",
	} {
		if _, err := storage.Open(location, ""); (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want it to say %q", location, err, want)
		}
	}
}

// TestOpenLinked: all paths of a folder are one storage, whether it exists yet or not.
func TestOpenLinked(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, below := range []string{"", "/jobs", "/jobs/nightly"} {
			want := opened(t, folder+"/real"+below, "").String()
			for _, path := range []string{folder + "/link" + below, "file://" + filepath.ToSlash(folder) + "/link" + below} {
				if got := opened(t, path, "").String(); got != want {
					t.Errorf("%s is %s, want %s", path, got, want)
				}
			}
		}
		if err := opened(t, folder+"/link/jobs/nightly", "").Check(t.Context()); err != nil { // which makes it
			t.Fatal(err)
		}
	}
}
