package storage_test

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/storage"
)

// A world is a storage, and what is behind it.
type world struct {
	storage.Storage
	t      testing.TB
	sim    *storagesim.Sim // nil for a folder
	folder string          // empty for a bucket
}

func newBucket(t testing.TB, config storagesim.Config) *world {
	t.Helper()
	config.Buckets = []string{"jobs"}
	sim := storagesim.Start(config)
	t.Cleanup(sim.Close)
	w := &world{Storage: opened(t, "gs://jobs/nightly", sim.Addr()), t: t, sim: sim}
	storage.InSmallChunks(w.Storage)
	return w
}

func newFolder(t testing.TB) *world {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "new", "jobs")
	return &world{Storage: opened(t, folder, ""), t: t, folder: folder}
}

func opened(t testing.TB, location, emulator string) storage.Storage {
	t.Helper()
	s, err := storage.Open(location, emulator)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// onEach runs a test on each kind of storage.
func onEach(t *testing.T, do func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		do(t, newFolder(t))
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		do(t, newBucket(t, storagesim.Config{PageNames: 3}))
	})
}

// create makes an object, and checks what Create returns.
func (w *world) create(name, content string) storage.Object {
	w.t.Helper()
	object, err := w.Create(w.t.Context(), name, strings.NewReader(content))
	if err != nil {
		w.t.Fatal(err)
	}
	if want := objectOf(name, content); object != want {
		w.t.Errorf("%+v, want %+v", object, want)
	}
	return object
}

func objectOf(name, content string) storage.Object {
	sum := crc32.Checksum([]byte(content), crc32.MakeTable(crc32.Castagnoli))
	return storage.Object{Name: name, Size: int64(len(content)), CRC32C: sum}
}

// read reads a range.
func (w *world) read(name string, offset, length int64) (string, error) {
	w.t.Helper()
	from, err := w.Read(w.t.Context(), name, offset, length)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(from)
	return string(content), errors.Join(err, from.Close())
}

// holds checks that an object has a content.
func (w *world) holds(name, want string) {
	w.t.Helper()
	if got, err := w.read(name, 0, -1); err != nil || got != want {
		w.t.Errorf("%s: %d bytes (%v), not %d: %.50q", name, len(got), err, len(want), got)
	}
	if object, err := w.Stat(w.t.Context(), name); err != nil || object != objectOf(name, want) {
		w.t.Errorf("%+v %v, want %+v", object, err, objectOf(name, want))
	}
}

// lists checks which names there are below a prefix.
func (w *world) lists(prefix string, want ...string) {
	w.t.Helper()
	var names []string
	for name, err := range w.Names(w.t.Context(), prefix) {
		if err != nil {
			w.t.Fatal(err)
		}
		names = append(names, name)
	}
	if !slices.Equal(names, want) {
		w.t.Errorf("below %q are %q, want %q", prefix, names, want)
	}
}

// unfinished returns how many objects or files there are that no name has.
func (w *world) unfinished() int {
	w.t.Helper()
	if w.sim != nil {
		return len(slices.DeleteFunc(w.sim.Names(), func(name string) bool {
			return !strings.Contains(name, "/.unfinished/")
		}))
	}
	entries, err := os.ReadDir(filepath.Join(w.folder, ".unfinished"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	return len(entries)
}

// A broken content fails behind its bytes.
type broken struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = b.err
	}
	return n, err
}

// cancelled returns a context that is over.
func cancelled(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
