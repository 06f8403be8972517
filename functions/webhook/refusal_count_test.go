package webhook_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

// TestCount: a refused delivery is counted with the reason of the log, an accepted one as such, and a
// canary's, which says nothing about Gemini's secret, and another method not at all [W1].
func TestCount(t *testing.T) {
	t.Parallel()
	var counted []string
	w := newWorld(t, options{count: func(refused string) { counted = append(counted, refused) }})
	w.register("batches/abc")
	send := func(secret, name string) {
		body := event("batch.succeeded", name, "2026-01-22T11:59:00Z")
		header := signed(secret, name, w.clock.Now(), []byte(body))
		w.request(http.MethodPost, header, strings.NewReader(body))
	}
	send(other, "batches/abc")
	send(secret, "batches/abc")
	send(secret, "batches/"+operation.CanaryPrefix+"1")
	send(other, "batches/abc")
	w.request(http.MethodGet, nil, nil)
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	send(secret, "batches/abc") // neither refused nor accepted: Gemini redelivers it
	if want := []string{"signature", "", "signature"}; !slices.Equal(counted, want) {
		t.Errorf("%q, want %q", counted, want)
	}
}
