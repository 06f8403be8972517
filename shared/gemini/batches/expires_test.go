package batches_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/operation"
)

// TestExpires: when a file and a cache expire, as the SDK would ask; and that what is deleted is gone.
func TestExpires(t *testing.T) {
	t.Parallel()
	w := start(t)
	file, err := w.client.Upload(t.Context(), "", 1, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := w.sdk.Caches.Create(t.Context(), "m", &genai.CreateCachedContentConfig{TTL: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	w.requests()
	for name, want := range map[string]time.Time{file.Name: file.ExpiresAt, cache.Name: cache.ExpireTime} {
		got, err := w.client.Expires(t.Context(), name)
		ours := w.requests()
		if name == file.Name {
			_, _ = w.sdk.Files.Get(t.Context(), name, nil)
		} else {
			_, _ = w.sdk.Caches.Get(t.Context(), name, nil)
		}
		if diff := cmp.Diff(w.requests(), ours); err != nil || !got.Equal(operation.Instant(want)) || diff != "" {
			t.Errorf("%s: %v, %v, want %v; -SDK +ours\n%s", name, got, err, want, diff)
		}
	}
	if _, err := w.sdk.Caches.Delete(t.Context(), cache.Name, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.client.DeleteFile(t.Context(), file.Name); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file.Name, cache.Name, "files/never", "cachedContents/never"} {
		if _, err := w.client.Expires(t.Context(), name); !errors.Is(err, batches.ErrGone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExpiresUndecided: which answers say that Gemini does not have a file, and which say nothing of it.
func TestExpiresUndecided(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		gone   bool
		fails  bool
	}{
		"there":           {200, `{"name":"files/a"}`, false, false},
		"another":         {200, `{"name":"files/b"}`, false, true},
		"the key as name": {200, `{"name":"` + apiKey + `"}`, false, true},
		"nothing":         {200, `{}`, false, true},
		"an error":        {200, google("NOT_FOUND", "no"), false, true},
		"no file":         {403, google("PERMISSION_DENIED", "… the File a or it may not exist."), true, true},
		"no cache":        {403, google("PERMISSION_DENIED", "CachedContent not found (or permission denied)"), true, true},
		"not found":       {404, google("NOT_FOUND", "Requested entity was not found."), true, true},
		"not found, HTML": {404, "<html>", false, true},
		"forbidden":       {403, google("PERMISSION_DENIED", "The caller does not have permission"), false, true},
		"a bad key":       {400, badKey, false, true},
		"billing":         {400, google("FAILED_PRECONDITION", "Please enable billing"), false, true},
		"too long a name": {400, google("INVALID_ARGUMENT", "File ID must not exceed 40 characters."), false, false},
		"too many":        {429, google("RESOURCE_EXHAUSTED", "later"), false, true},
		"a failure":       {500, google("INTERNAL", "File"), false, true},
	} {
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		at, err := client.Expires(t.Context(), "files/a")
		if errors.Is(err, batches.ErrGone) != c.gone || (err != nil) != c.fails || !at.IsZero() ||
			err != nil && strings.Contains(err.Error(), apiKey) {
			t.Errorf("%s: %v, %v", name, at, err)
		}
	}
	unasked := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") })
	for _, name := range []string{"", "batches/a", "files/a/../b", "files/a?b", "files/"} {
		if _, err := unasked.Expires(t.Context(), name); err == nil {
			t.Errorf("%q was asked for", name)
		}
	}
}
