package storage_test

import (
	"errors"
	"io"
	"testing"

	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/test/itemworld"
)

// TestMemory: an object of 40 MB is created and read in the memory of a chunk.
func TestMemory(t *testing.T) {
	const size = 40 << 20
	for name, open := range map[string]func(testing.TB) *world{
		"folder": newFolder,
		"bucket": func(t testing.TB) *world { return newBucket(t, storagesim.Config{Folder: t.TempDir()}) },
	} {
		t.Run(name, func(t *testing.T) { // not parallel: it measures the whole heap
			w := open(t)
			peak := itemworld.Held(t, func(look func()) {
				if _, err := w.Create(t.Context(), "large", &endless{left: size, every: 8 << 20, look: look}); err != nil {
					t.Fatal(err)
				}
				from, err := w.Read(t.Context(), "large", 0, -1)
				if err != nil {
					t.Fatal(err)
				}
				read, err := io.CopyBuffer(&sink{look: look}, from, make([]byte, 1<<20))
				if err := errors.Join(err, from.Close()); err != nil || read != size {
					t.Fatal(read, err)
				}
			})
			t.Logf("at most %d KiB held", peak>>10)
			if peak > 12<<20 {
				t.Errorf("%d bytes held", peak)
			}
		})
	}
}

// A sink drops what is written to it, and measures on its way.
type sink struct {
	look func()
	size int
}

// Write implements io.Writer.
func (s *sink) Write(p []byte) (int, error) {
	const every = 8 << 20
	if s.size += len(p); s.size%every < len(p) {
		s.look()
	}
	return len(p), nil
}

// An endless content is so many bytes, and is measured on its way.
type endless struct {
	left, every int
	look        func()
}

// Read implements io.Reader.
func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	if (e.left-n)/e.every != e.left/e.every {
		e.look()
	}
	e.left -= n
	return n, nil
}
