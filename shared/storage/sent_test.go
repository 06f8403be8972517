package storage

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestSentRequest: what is added to a request on its way is removed too, but only for the last request.
func TestSentRequest(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "no "+r.URL.Path+" for "+r.Header.Get("Authorization"))
	}))
	defer server.Close()
	client := &http.Client{Transport: authorize{noteSent{Next: http.DefaultTransport}}}
	ctx, exchange := watchSent(t.Context())
	if got := exchange.Redactor().Text("nothing"); got != "nothing" {
		t.Error(got)
	}
	for _, path := range []string{"/first", "/second"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if got := exchange.Redactor().Text(string(said)); got != "no [path] for [Authorization]" {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := exchange.Redactor().Text("first"); got != "first" {
		t.Error(got)
	}
}

type authorize struct{ next http.RoundTripper }

func (a authorize) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer of tidings")
	return a.next.RoundTrip(request) //nolint:wrapcheck // as it is
}
