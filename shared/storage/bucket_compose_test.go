package storage_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/storage"
)

// parts makes objects for Compose, and returns what they are together.
func (w *world) parts(n int) (sources []storage.Object, whole string) {
	w.t.Helper()
	for i := range n {
		line := fmt.Sprintf("{\"key\":%q}\n", fmt.Sprint("review-", i))
		whole += line
		sources = append(sources, w.create(fmt.Sprintf("parts/%d", i), line))
	}
	return sources, whole
}

// TestCompose: any number of objects become one, in their order, and nothing is left beside it.
func TestCompose(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 32, 33, 1024, 1025} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, w *world) {
				sources, whole := w.parts(n)
				object, err := w.Compose(t.Context(), "results.jsonl", sources)
				if err != nil || object != objectOf("results.jsonl", whole) {
					t.Fatalf("%+v %v", object, err)
				}
				w.holds("results.jsonl", whole)
				if n := w.unfinished(); n != 0 {
					t.Errorf("%d are left", n)
				}
				if _, err := w.Compose(t.Context(), "results.jsonl", sources); !errors.Is(err, storage.ErrExists) {
					t.Errorf("again: %v", err)
				}
				w.holds("results.jsonl", whole)
			})
		})
	}
}

// TestComposeOfAnother: a source that is gone, or is not what it was, makes nothing.
func TestComposeOfAnother(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		sources, _ := w.parts(40)
		longer := append([]storage.Object{}, sources...)
		longer[7].Size++
		if _, err := w.Compose(t.Context(), "all", longer); err == nil || errors.Is(err, storage.ErrExists) ||
			!strings.Contains(err.Error(), "when") {
			t.Errorf("of another size: %v", err)
		}
		if err := w.Delete(t.Context(), "parts/39"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Compose(t.Context(), "all", sources); !errors.Is(err, storage.ErrNotExist) {
			t.Errorf("one is gone: %v", err)
		}
		w.lists("all")
		if n := w.unfinished(); n != 0 {
			t.Errorf("%d are left", n)
		}
		if _, err := w.Compose(t.Context(), "all", sources[:39]); err != nil {
			t.Error(err)
		}
	})
}

// TestComposeChecksum: in a folder other bytes of the same number are found.
func TestComposeChecksum(t *testing.T) {
	t.Parallel()
	w := newFolder(t)
	sources, _ := w.parts(3)
	sources[1].CRC32C ^= 1
	if _, err := w.Compose(t.Context(), "all", sources); err == nil ||
		!strings.Contains(err.Error(), "the object parts/1 has 19 bytes with crc32c") {
		t.Error(err)
	}
	w.lists("all")
}

// TestComposeAnswers: an answer that was lost is asked for, a refusal makes nothing, and the next call is
// free to go on.
func TestComposeAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault func(*storagesim.Sim)
		fails bool
	}{
		"the answer never comes": {func(s *storagesim.Sim) { s.Lose(storagesim.Compose, 0) }, false},
		"the answer is a 503":    {func(s *storagesim.Sim) { s.Lose(storagesim.Compose, 503) }, false},
		"refused":                {func(s *storagesim.Sim) { s.Fail(storagesim.Compose, 503, "") }, true},
		"nothing can be deleted": {func(s *storagesim.Sim) {
			s.Lose(storagesim.Compose, 503)
			s.Deny("storage.objects.delete")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newBucket(t, storagesim.Config{})
			sources, whole := w.parts(70)
			c.fault(w.sim)
			if _, err := w.Compose(t.Context(), "all", sources); (err != nil) != c.fails {
				t.Fatal(err)
			}
			if c.fails {
				if _, err := w.Compose(t.Context(), "all", sources); err != nil {
					t.Fatal(err)
				}
			}
			w.holds("all", whole)
		})
	}
}

// TestComposeStops: a process that is told to stop leaves nothing behind.
func TestComposeStops(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		sources, _ := w.parts(70)
		if _, err := w.Compose(cancelled(t), "all", sources); err == nil {
			t.Error("it went on")
		}
		w.lists("all")
		if n := w.unfinished(); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}
