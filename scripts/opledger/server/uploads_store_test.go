package server

import (
	"context"
	"errors"
	"fmt"
	"io"
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
