package lookup_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

// TestLookupRequest: what is asked is one GET of the operation that was named, and the key is in a header only [K5].
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

// TestLookupSendsNothing: a name that would make another request of it, or that this revision cannot look up.
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

// TestAnswerEvent: what a look-up learned goes the way of every event, under an id made of what was learned alone [R2].
func TestAnswerEvent(t *testing.T) {
	t.Parallel()
	n := operationName(t, "batches/abc123")
	result := operation.Result{OutputFile: "files/x"}
	for _, test := range []struct {
		at     time.Time
		id     string
		cut    time.Time
		source operation.Source
	}{
		{at: noon, id: "reconcile-SUCCEEDED-2026-01-22T12:00:00.000000Z", cut: noon},
		{at: noon.Add(123456789), id: "reconcile-SUCCEEDED-2026-01-22T12:00:00.123456Z", cut: noon.Add(123456000)},
		{at: noon.In(time.FixedZone("", 3600)), id: "reconcile-SUCCEEDED-2026-01-22T12:00:00.000000Z", cut: noon},
		{id: "reconcile-SUCCEEDED"},
	} {
		got := lookup.Answer{State: operation.Succeeded, UpdateTime: test.at, Result: result, CorrelationID: "c-1"}.Event(n)
		want := operation.Event{
			Name: n, DeliveryID: test.id, Source: operation.Reconcile, State: operation.Succeeded, UpdateTime: test.cut, Result: result,
			CorrelationID: "c-1",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
	for _, a := range []lookup.Answer{{}, {State: "DREAMING"}, {State: operation.Succeeded, Reason: lookup.NotFound}} {
		if a.Known() || a.Event(n).State != operation.Unknown {
			t.Errorf("M1: %+v is known", a)
		}
	}
}

func TestNewClient(t *testing.T) {
	t.Parallel()
	if _, err := lookup.NewClient(t.Context(), lookup.Options{APIKey: " \n"}); !errors.Is(err, api.ErrNoAPIKey) {
		t.Errorf("no key: %v", err)
	}
	for _, opts := range []lookup.Options{
		{APIKey: apiKey + "\r\nX-Evil: 1"},
		{APIKey: "two " + apiKey},
		{APIKey: apiKey, BaseURL: "localhost:8080"},
		{APIKey: apiKey, BaseURL: "ftp://" + apiKey},
		{APIKey: apiKey, BaseURL: "http://" + apiKey},
		{APIKey: apiKey, BaseURL: "http://%zz" + apiKey},
	} {
		client, err := lookup.NewClient(t.Context(), opts)
		if err == nil || client != nil || strings.Contains(err.Error(), apiKey) {
			t.Errorf("client %v, error %v", client, err)
		}
	}
	mine := &http.Client{}
	opts := lookup.Options{APIKey: apiKey + "\n", HTTP: mine}
	client, err := lookup.NewClient(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if mine.Transport != nil || mine.CheckRedirect != nil {
		t.Error("the caller's HTTP client was changed")
	}
	if printed := fmt.Sprintf("%v %+v %#v %v %+v %#v", client, client, client, opts, opts, opts); strings.Contains(printed, apiKey) {
		t.Errorf("printed with the key: %s", printed)
	}
}

// TestNewClientEnvironment: the environment may say where Gemini is, and not whose key or which service. Not parallel,
// because it sets variables.
func TestNewClientEnvironment(t *testing.T) {
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "1")
	t.Setenv("GOOGLE_CLOUD_PROJECT", "p")
	t.Setenv("GOOGLE_CLOUD_LOCATION", "l")
	t.Setenv("GEMINI_API_KEY", "another-key")
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1beta/batches/abc123" || r.Header.Get("X-Goog-Api-Key") != apiKey {
			t.Errorf("asked for %s with key %q", r.URL, r.Header.Get("X-Goog-Api-Key"))
		}
		says(200, batch(`"state":"BATCH_STATE_RUNNING"`))(w, r)
	}, func(o *lookup.Options) {
		t.Setenv("GOOGLE_GEMINI_BASE_URL", o.BaseURL)
		o.BaseURL = ""
	})
	if got := client.Lookup(t.Context(), operationName(t, "batches/abc123")); got.State != operation.Running {
		t.Errorf("got %+v", got)
	}
	if _, err := lookup.NewClient(t.Context(), lookup.Options{}); !errors.Is(err, api.ErrNoAPIKey) {
		t.Errorf("the environment's key is used: %v", err)
	}
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://elsewhere")
	if client, err := lookup.NewClient(t.Context(), lookup.Options{APIKey: apiKey}); err == nil || client != nil {
		t.Error("the environment makes it send the key in clear text")
	}
}

func TestReasonsAreCountable(t *testing.T) {
	t.Parallel()
	reasons := lookup.Reasons()
	slices.Sort(reasons)
	if n := len(slices.Compact(slices.Clone(reasons))); n != len(reasons) || n != 14 {
		t.Errorf("%d words, %d different", len(reasons), n)
	}
	for _, reason := range reasons {
		if reason == "" || strings.Trim(reason, "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("%q is no label", reason)
		}
	}
}
