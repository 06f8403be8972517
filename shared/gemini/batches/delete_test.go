package batches_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/api"
)

// TestDeleteFile: what is gone is deleted, and nothing but a file is.
func TestDeleteFile(t *testing.T) {
	t.Parallel()
	for status, gone := range map[int]bool{200: true, 404: true, 403: true, 400: false, 429: false, 503: false} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodDelete || r.RequestURI != "/v1beta/files/a-1" || r.Header.Get("X-Goog-Api-Key") != apiKey {
				t.Errorf("asked for %s %s", r.Method, r.RequestURI)
			}
			says(status, "{}")(w, r)
		})
		err := client.DeleteFile(t.Context(), "files/a-1")
		answer, answered := errors.AsType[*api.Error](err)
		if (err == nil) != gone || answered && answer.Status != status {
			t.Errorf("%d: %v", status, err)
		}
	}
	client := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	for _, name := range []string{"", "files/", "files/..", "files/a/b", "batches/a", "files/a?b", "files/a:b"} {
		if err := client.DeleteFile(t.Context(), name); err == nil {
			t.Errorf("%q was deleted", name)
		}
	}
}

// TestDeleteFileAsSDK: the request is the SDK's.
func TestDeleteFileAsSDK(t *testing.T) {
	t.Parallel()
	w := start(t)
	_ = w.client.DeleteFile(t.Context(), "files/a-1") // what the simulator says of it is TestDeleteFile's matter
	ours := w.requests()
	_, _ = w.sdk.Files.Delete(t.Context(), "files/a-1", nil)
	if diff := cmp.Diff(w.requests(), ours); diff != "" || len(ours) != 1 {
		t.Errorf("%d requests, -SDK +ours\n%s", len(ours), diff)
	}
}
