package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/storage"
)

// TestUploadOfAnotherField: the same bytes with their keys in another field are another input. What was made of
// them does not answer for it.
func TestUploadOfAnotherField(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	canonical, _, _ := inputOf("a", "b")
	text := strings.ReplaceAll(canonical, `"key":`, `"custom_id":`)
	target := "/jobs/nightly/input/" + digestOf(text)
	named := target + "?keyField=custom_id"
	r := w.ask(http.MethodPut, named, strings.NewReader(text))
	w.wants("with its field", r, http.StatusOK, "")
	w.wantsOffset(w.ask(http.MethodHead, target, nil), "0", "?0")
	w.wants("with another", w.ask(http.MethodPut, target, strings.NewReader(text)), http.StatusBadRequest, "key")
	w.wantsOffset(w.ask(http.MethodHead, named, nil), fmt.Sprint(r.Input.Bytes), "?1")
	w.aged()
	w.server.expire(t.Context())
	if w.stored(r.Input.Object) != "" {
		t.Error("it has not expired")
	}
}

// aged makes all uploads as old as those that expire.
func (w *jobsWorld) aged() {
	w.Helper()
	entries, err := os.ReadDir(w.server.uploads.folder)
	for _, entry := range entries {
		old := time.Now().Add(-keepUpload)
		err = errors.Join(err, os.Chtimes(filepath.Join(w.server.uploads.folder, entry.Name()), old, old))
	}
	w.must(err)
}

// A crashing storage creates objects, and its process does not live to hear of it.
type crashing struct{ storage.Storage }

// Create implements storage.Storage.
func (c crashing) Create(ctx context.Context, name string, content io.Reader) (storage.Object, error) {
	_, err := c.Storage.Create(ctx, name, content)
	return storage.Object{}, errors.Join(err, errors.New("the process has ended"))
}

// TestUploadAfterCrash: an input expires also where the process ended as soon as it was in job storage.
func TestUploadAfterCrash(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	text, digest, target := inputOf("a")
	w.server.uploads.storage = crashing{w.server.jobs}
	w.wants("the upload", w.ask(http.MethodPut, target, strings.NewReader(text)), http.StatusServiceUnavailable, "")
	object := "nightly/" + digest + "/input.jsonl"
	if w.stored(object) != text {
		t.Fatal("it is not in job storage")
	}
	w.aged()
	w.server.expire(t.Context())
	if w.stored(object) != "" {
		t.Error("it has not expired")
	}
}

// TestTidyBesideTheLedger: what crashes left in the folder beside the ledger is deleted, too. Without jobs there
// is no folder.
func TestTidyBesideTheLedger(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	folder := filepath.Join(w.folder, "ledger.db.jobs")
	w.server.expire(t.Context())
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without jobs: %v", err)
	}
	left := func() string {
		path := filepath.Join(folder, ".unfinished", "CRASHED")
		old := time.Now().Add(-25 * time.Hour)
		w.must(os.MkdirAll(filepath.Dir(path), 0o700))
		w.must(os.WriteFile(path, []byte("half of an obj"), 0o600))
		w.must(os.Chtimes(path, old, old))
		return path
	}
	now := time.Now()
	w.server.options.Now = func() time.Time { return now }
	for _, c := range []struct {
		later time.Duration
		stays bool
	}{{0, false}, {tidyEvery - 1, true}, {1, false}} {
		now = now.Add(c.later)
		path := left()
		w.server.expire(t.Context())
		if _, err := os.Stat(path); (err == nil) != c.stays {
			t.Errorf("%v later it is there: %v, want %v", c.later, err == nil, c.stays)
		}
	}
}
