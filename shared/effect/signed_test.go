package effect_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/opledger/opledger/shared/effect"
)

const signingSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// TestHTTPSigned: over a real connection, a receiver verifies every attempt with the official library. The id is the same on
// every attempt, the time is the attempt's own.
func TestHTTPSigned(t *testing.T) {
	t.Parallel()
	receiver, err := standardwebhooks.NewWebhook(signingSecret)
	if err != nil {
		t.Fatal(err)
	}
	var ids, times []string
	o := receive(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if err := receiver.Verify(body, r.Header); err != nil {
			t.Errorf("it comes from a stranger: %v", err)
		}
		ids, times = append(ids, r.Header.Get("webhook-id")), append(times, r.Header.Get("webhook-timestamp"))
	})
	if o.Signer, err = effect.NewSigner(signingSecret); err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	o.Now = func() time.Time { return at }
	for range 2 {
		if err := perform(t, o); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Minute)
	}
	if len(ids) != 2 || ids[0] == "" || ids[0] != ids[1] || times[0] == times[1] {
		t.Errorf("ids %q, times %q", ids, times)
	}
}

// TestHTTPUnsigned: without a secret there is nothing that looks like a signature.
func TestHTTPUnsigned(t *testing.T) {
	t.Parallel()
	o := receive(t, func(_ http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if strings.HasPrefix(name, "Webhook-") {
				t.Errorf("it has %s", name)
			}
		}
	})
	if err := perform(t, o); err != nil {
		t.Fatal(err)
	}
}

// TestHTTPSecretAnywhereInURL: neither an answer nor a connection that fails puts the path or the query, where many receivers
// have a token, into an error.
func TestHTTPSecretAnywhereInURL(t *testing.T) {
	t.Parallel()
	o := receive(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	for _, where := range []string{o.URL, "http://127.0.0.1:1/hook", "http://127.0.0.1:1:2/hook", "http://host.invalid/hook"} {
		o.URL = where + "/hunter2?token=hunter2"
		if err := perform(t, o); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
}
