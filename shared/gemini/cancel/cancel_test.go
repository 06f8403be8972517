package cancel_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/cancel"
	"github.com/opledger/opledger/shared/operation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const apiKey = "the-key-of-the-project"

// TestCancel: a batch and an interaction are each cancelled at the address that Gemini documents, a video
// at none, and a name that would change the request is refused.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, collection, asked string
		want                    error
	}{
		{"batches/abc", "batches", "POST /v1beta/batches/abc:cancel {}", nil},
		{"projects/p/locations/us/batches/abc", "batches", "POST /v1beta/batches/abc:cancel {}", nil},
		{"v1_abc", "interactions", "POST /v1beta/interactions/v1_abc/cancel {}", nil},
		{"models/veo/operations/abc", "operations", "", cancel.ErrUnsupported},
		{"batches/a:cancel?x", "batches", "", operation.ErrName},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			asked := ""
			client := newClient(t, func(w http.ResponseWriter, r *http.Request) {
				body := make([]byte, 100)
				n, _ := r.Body.Read(body)
				asked = r.Method + " " + r.URL.Path + " " + string(body[:n])
				_, _ = w.Write([]byte("{}"))
			})
			name, err := operation.ParseName(c.name, operation.Collection(c.collection))
			if err != nil && c.want == nil {
				t.Fatal(err)
			}
			if err == nil {
				err = client.Cancel(t.Context(), name)
			}
			if !errors.Is(err, c.want) || asked != c.asked {
				t.Errorf("asked %q, %v; want %q, %v", asked, err, c.asked, c.want)
			}
		})
	}
}

// TestCancelRefused: Gemini's refusal is told with its status, and without the key.
func TestCancelRefused(t *testing.T) {
	t.Parallel()
	client := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":{"code":404,"message":"no batch of ` + apiKey + `","status":"NOT_FOUND"}}`))
	})
	name, err := operation.ParseName("batches/abc", operation.Batches)
	if err != nil {
		t.Fatal(err)
	}
	err = client.Cancel(t.Context(), name)
	var refusal *api.Error
	if !errors.As(err, &refusal) || refusal.Status != http.StatusNotFound || strings.Contains(err.Error(), apiKey) {
		t.Errorf("%v", err)
	}
}

// TestNewClient: without a key there is no client.
func TestNewClient(t *testing.T) {
	t.Parallel()
	if _, err := cancel.NewClient(cancel.Options{}); !errors.Is(err, api.ErrNoAPIKey) {
		t.Errorf("%v", err)
	}
}

func newClient(t *testing.T, handler http.HandlerFunc) *cancel.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := cancel.NewClient(cancel.Options{APIKey: apiKey, BaseURL: server.URL, HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
