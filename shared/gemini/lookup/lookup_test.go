package lookup_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

// TestLookupRequest: a look-up is one GET of the named operation, with the key in a header only
// [K5].
func TestLookupRequest(t *testing.T) {
	t.Parallel()
	var (
		mu   sync.Mutex
		seen []string
	)
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Method+" "+r.URL.String())
		if r.Header.Get("X-Goog-Api-Key") != apiKey {
			t.Errorf("API key %q", r.Header.Get("X-Goog-Api-Key"))
		}
		says(503, `{"error":{"code":503}}`)(w, r)
	})
	asked := [][2]string{
		{"batches/abc123", "batches/abc123"},
		{"abc123", "batches/abc123"},
		{"Batches/abc123", "batches/abc123"},
		{"models/m/batches/abc123", "batches/abc123"},
		{"batches//abc123", "batches/abc123"},
		{"batches/A-b_c.d~e=", "batches/A-b_c.d~e="},
		{"https://generativelanguage.googleapis.com/v1beta/batches/abc123", "batches/abc123"},
		{"models/veo-3.1/operations/abc", "models/veo-3.1/operations/abc"},
		{"/models/veo//Operations/abc/", "models/veo/operations/abc"},
		{"https://generativelanguage.googleapis.com/v1beta/models/veo/operations/abc", "models/veo/operations/abc"},
		{"operations/abc", "operations/abc"},
		{"interactions/v1_x-y=", "interactions/v1_x-y%3D"}, // escaped by the SDK, the same to a server
		{"projects/p/interactions/v1_x", "interactions/v1_x"},
	}
	var want []string
	for _, ask := range asked {
		checkUnknown(t, client.Lookup(t.Context(), operationName(t, ask[0])), lookup.Unavailable)
		want = append(want, "GET /v1beta/"+ask[1])
	}
	// A delivery may bring a bare id; its collection comes from the event's type [K2].
	checkUnknown(t, client.Lookup(t.Context(), operation.Name{Key: "operations/abc", Resource: "abc"}), lookup.Unavailable)
	want = append(want, "GET /v1beta/operations/abc")
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("requests, each once, -want +got\n%s", diff)
	}
}

// TestLookupSendsNothing: a name that would change the request, or of an unsupported collection, is
// not sent.
func TestLookupSendsNothing(t *testing.T) {
	t.Parallel()
	client := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked for %s", r.URL) })
	for raw, reason := range map[string]string{
		"batches/..":                          lookup.InvalidName,
		"batches/.":                           lookup.InvalidName,
		"batches/x?key=y":                     lookup.InvalidName,
		"batches/x#y":                         lookup.InvalidName,
		"batches/x:cancel":                    lookup.InvalidName,
		"batches/x%2Fy":                       lookup.InvalidName,
		"batches/x y":                         lookup.InvalidName,
		"batches/x\\y":                        lookup.InvalidName,
		"batches/{name}":                      lookup.InvalidName,
		"batches/ü":                           lookup.InvalidName,
		"operations/..":                       lookup.InvalidName,
		"models/veo/operations/x:cancel":      lookup.InvalidName,
		"models/../operations/x":              lookup.InvalidName,
		"models/veo?x=y/operations/x":         lookup.InvalidName,
		"models/{name}/operations/x":          lookup.InvalidName,
		"interactions/.":                      lookup.InvalidName,
		"interactions/v1_x/cancel/../../y":    lookup.Unsupported,
		"interactions/v1%5fx":                 lookup.InvalidName,
		"batchJobs/x":                         lookup.Unsupported,
		"projects/p/batchPredictionJobs/7":    lookup.Unsupported,
		"files/x":                             lookup.Unsupported,
		"models/m:generate?x=y/../tunedModel": lookup.Unsupported,
	} {
		checkUnknown(t, client.Lookup(t.Context(), operationName(t, raw)), reason)
	}
	checkUnknown(t, client.Lookup(t.Context(), operation.Name{}), lookup.Unsupported)
	checkUnknown(t, client.Lookup(t.Context(), operation.Name{Key: "batches/"}), lookup.Unsupported)
}

// TestAsksOnce: one look-up is one request, whatever the answer.
func TestAsksOnce(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `{}`, `null`, `[]`, `<html>`, `{"error":{"code":404}}`,
		batch(`"state":"BATCH_STATE_DREAMING"`)} {
		handler, n := counted(says(200, body))
		client := serve(t, handler)
		for _, raw := range names {
			if got := client.Lookup(t.Context(), operationName(t, raw)); got.State != operation.Unknown {
				t.Errorf("R4: %s for %s", got.State, body)
			}
		}
		if n.Load() != int32(len(names)) {
			t.Errorf("%d requests for %s", n.Load(), body)
		}
	}
}
