package storage_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/storage"
)

// TestReadIsCut: a download that is cut short never looks like the whole.
func TestReadIsCut(t *testing.T) {
	t.Parallel()
	w := newBucket(t, storagesim.Config{})
	content := strings.Repeat("0123456789", 100_000)
	w.create("a", content)
	for _, bytes := range []int{1, 5000, 999_999} {
		w.sim.Cut(storagesim.Download, bytes)
		got, err := w.read("a", 0, -1)
		if !errors.Is(err, io.ErrUnexpectedEOF) || got != content[:bytes] ||
			!strings.Contains(err.Error(), "gs://jobs/nightly/a") {
			t.Errorf("behind %d bytes: %d bytes, %v", bytes, len(got), err)
		}
	}
	w.sim.Cut(storagesim.Download, 5000)
	if got, err := w.read("a", 10, 900_000); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 5000 {
		t.Errorf("of a range: %d bytes, %v", len(got), err)
	}
	w.holds("a", content)
}

// TestReadOfAnother: an answer that is not the range, or does not say how long it is, is refused.
func TestReadOfAnother(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "gzip") {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush() // so that it has no Content-Length
		}
		_, _ = io.WriteString(w, "0123456789")
	}))
	defer server.Close()
	w := &world{Storage: opened(t, "gs://jobs", server.URL), t: t}
	for _, c := range []struct {
		name           string
		offset, length int64
		says           string
	}{
		{"a", 3, 2, "answered with all of it"},
		{"a", 3, -1, "answered with all of it"},
		{"a", 0, 2, "answered with all of it"},
		{"a", 0, 11, "it has 10 of the 11 bytes"},
		{"gzip", 0, -1, "stored with a Content-Encoding"},
	} {
		if got, err := w.read(c.name, c.offset, c.length); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %q %v", c, got, err)
		}
	}
	if got, err := w.read("a", 0, 10); got != "0123456789" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if _, err := w.Stat(t.Context(), "a"); err == nil || errors.Is(err, storage.ErrNotExist) {
		t.Errorf("what is no description of an object: %v", err)
	}
}
