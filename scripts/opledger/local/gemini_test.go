package local

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// TestGemini: the simulator answers on loopback, and delivers the end of a job to the webhook, signed
// with the secret that it gave. No page whose name was rebound to this machine reaches it [G7].
func TestGemini(t *testing.T) {
	t.Parallel()
	delivered := make(chan error, 1)
	var verifier *gemini.Verifier // set before a job is created
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = verifier.Verify(r.Header, body)
		}
		delivered <- err
	}))
	defer receiver.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := StartGemini(geminisim.Config{Speed: 10000}, listener)
	defer g.Close()
	secret, err := g.CreateWebhook(t.Context(), receiver.URL)
	if err != nil {
		t.Fatal(err)
	}
	if verifier, err = gemini.NewVerifier(secret); err != nil {
		t.Fatal(err)
	}
	create := func(host string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			g.URL+"/v1beta/interactions", strings.NewReader(`{"model":"m","input":"x","background":true}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("X-Goog-Api-Key", APIKey)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
		return answer.StatusCode
	}
	if status := create("evil.example:8090"); status != http.StatusForbidden {
		t.Errorf("under another name: %d", status)
	}
	if status := create("localhost:8090"); status != http.StatusOK {
		t.Errorf("as localhost: %d", status)
	}
	if err := <-delivered; err != nil {
		t.Error(err)
	}
}
