package lookup_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/operations"

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
		{"interactions/v1_x-y=", "interactions/v1_x-y="},
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

// TestLookupAsSDK: a look-up makes the request that the official SDK makes for the same operation, of
// the same method, address and revision, and finds in the answer what the SDK finds.
func TestLookupAsSDK(t *testing.T) {
	t.Parallel()
	aVideo := func(ctx context.Context, sdk *genai.Client) (string, error) {
		v, err := sdk.Operations.GetVideosOperation(ctx, &genai.GenerateVideosOperation{Name: names[1]}, nil)
		if err != nil || len(v.Error) > 0 {
			return fmt.Sprint(v.Error["code"], " ", v.Error["message"]), err
		}
		if len(v.Response.GeneratedVideos) == 0 {
			return "filtered " + strings.Join(v.Response.RAIMediaFilteredReasons, "; "), nil
		}
		video := v.Response.GeneratedVideos[0].Video
		return fmt.Sprint(video.URI, len(video.VideoBytes) > 0), nil
	}
	made := func(a lookup.Answer) string { return fmt.Sprint(a.Result.OutputFile, a.Result.Inline) }
	failed := func(a lookup.Answer) string { return a.Result.ErrorCode + " " + a.Result.ErrorMessage }
	for _, c := range []struct {
		name, body string
		ours       func(lookup.Answer) string
		sdks       func(context.Context, *genai.Client) (string, error)
	}{
		{
			names[0], batch(`"state":"BATCH_STATE_SUCCEEDED","updateTime":"2026-01-22T12:00:00.5Z"`),
			func(a lookup.Answer) string { return fmt.Sprint("JOB_STATE_", a.State, a.UpdateTime.UTC()) },
			func(ctx context.Context, sdk *genai.Client) (string, error) {
				job, err := sdk.Batches.Get(ctx, names[0], nil)
				return fmt.Sprint(job.State, job.UpdateTime.UTC()), err
			},
		},
		{names[1], generated(`"generatedSamples":[{"video":{"uri":"files/first"}},{"video":{"uri":"b"}}]`), made, aVideo},
		{names[1], generated(`"generatedSamples":[{"video":{"encodedVideo":"AAAA"}}]`), made, aVideo},
		{names[1], generated(`"raiMediaFilteredCount":2,"raiMediaFilteredReasons":["unsafe","sound"]`), failed, aVideo},
		{names[1], video(`,"done":true,"error":{"code":8,"message":"no quota"}`), failed, aVideo},
		{
			names[2], interaction(`"status":"failed","errors":[{"code":"quota","message":"none"}],` +
				`"webhook_config":{"user_metadata":{"opledger_correlation_id":"c-1"}}`),
			func(a lookup.Answer) string {
				return fmt.Sprint(strings.ToLower(string(a.State)), a.UpdateTime.UTC(), failed(a), a.CorrelationID)
			},
			func(ctx context.Context, sdk *genai.Client) (string, error) {
				id := strings.TrimPrefix(names[2], "interactions/")
				got, err := sdk.Interactions.Get(ctx, operations.GetInteractionByIDRequest{ID: id})
				if err != nil {
					return "", err
				}
				i := got.Interaction
				updated, err := time.Parse(time.RFC3339, *i.Updated)
				return fmt.Sprint(i.Status, updated.UTC(), *i.Errors[0].Code, " ", *i.Errors[0].Message,
					i.WebhookConfig.GetUserMetadata()["opledger_correlation_id"]), err
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var seen []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen = append(seen, fmt.Sprint(r.Method, r.RequestURI, r.Header["X-Goog-Api-Key"], r.Header["Api-Revision"]))
				says(200, c.body)(w, r)
			}))
			t.Cleanup(server.Close)
			client, err := lookup.NewClient(lookup.Options{APIKey: apiKey, BaseURL: server.URL, HTTP: server.Client()})
			if err != nil {
				t.Fatal(err)
			}
			sdk, err := genai.NewClient(t.Context(), &genai.ClientConfig{
				APIKey: apiKey, Backend: genai.BackendGeminiAPI, HTTPClient: server.Client(),
				HTTPOptions: genai.HTTPOptions{BaseURL: server.URL},
			})
			if err != nil {
				t.Fatal(err)
			}
			want, err := c.sdks(t.Context(), sdk)
			if got := client.Lookup(t.Context(), operationName(t, c.name)); err != nil || c.ours(got) != want {
				t.Errorf("it finds %q, and the SDK %q, %v", c.ours(got), want, err)
			}
			if len(seen) != 2 || seen[0] != seen[1] {
				t.Errorf("requests of the SDK and of the look-up: %q", seen)
			}
		})
	}
}
