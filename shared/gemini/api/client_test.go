package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/api"
)

func TestNew(t *testing.T) {
	t.Parallel()
	if _, err := api.New(api.Options{APIKey: " \n"}); !errors.Is(err, api.ErrNoAPIKey) {
		t.Errorf("no key: %v", err)
	}
	for _, o := range []api.Options{
		{APIKey: apiKey + "\r\nX-Evil: 1"},
		{APIKey: "two " + apiKey},
		{APIKey: apiKey, BaseURL: "localhost:8080"},
		{APIKey: apiKey, BaseURL: "ftp://" + apiKey},
		{APIKey: apiKey, BaseURL: "http://" + apiKey},
		{APIKey: apiKey, BaseURL: "http://%zz" + apiKey},
	} {
		client, err := api.New(o)
		if err == nil || client != nil || strings.Contains(err.Error(), apiKey) {
			t.Errorf("client %v, error %v", client, err)
		}
	}
	mine := &http.Client{}
	o := api.Options{APIKey: apiKey + "\n", HTTP: mine}
	client, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if mine.Transport != nil || mine.CheckRedirect != nil {
		t.Error("the caller's HTTP client was changed")
	}
	printed := fmt.Sprintf("%v %+v %#v %v %+v %#v", client, client, client, o, o, o)
	if strings.Contains(printed, apiKey) {
		t.Errorf("printed with the key: %s", printed)
	}
}

// TestNewEnvironment: the environment may say where Gemini is, but not which key to use. Not
// parallel, because it sets variables.
func TestNewEnvironment(t *testing.T) {
	t.Setenv("GEMINI_API_KEY", "another-key")
	var asked []string
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+" "+r.Header.Get("X-Goog-Api-Key"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"name":"operations/abc"}`))
	}, func(o *api.Options) {
		t.Setenv("GOOGLE_GEMINI_BASE_URL", o.BaseURL)
		o.BaseURL = ""
	})
	if err := errors.Join(get(t.Context(), client), call(t.Context(), client)); err != nil {
		t.Error(err)
	}
	want := "/v1beta/batches/abc " + apiKey + ", /v1beta/operations/abc " + apiKey
	if got := strings.Join(asked, ", "); got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
	if _, err := api.New(api.Options{}); !errors.Is(err, api.ErrNoAPIKey) {
		t.Errorf("the environment's key is used: %v", err)
	}
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://elsewhere")
	if client, err := api.New(api.Options{APIKey: apiKey}); err == nil || client != nil {
		t.Error("the environment makes it send the key in clear text")
	}
}

// TestRedirectKeepsKey: a redirect is an answer like any other, and is not followed: net/http would
// send the key along.
func TestRedirectKeepsKey(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(other.Close)
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	for name, ask := range ways {
		var refused *api.Error
		if err := ask(t.Context(), client); !errors.As(err, &refused) || refused.Status != http.StatusTemporaryRedirect {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the redirect was followed %d times", n)
	}
}

// TestHeadersAreBounded: a client of its own takes 64 KiB of headers, and gives a request up after
// Options.Timeout.
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	own := func(o *api.Options) { o.HTTP, o.Timeout = nil, 50*time.Millisecond }
	for name, ask := range ways {
		long := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 70<<10))
		}, own, func(o *api.Options) { o.Timeout = 0 })
		if err := ask(t.Context(), long); !errors.Is(err, api.ErrInterrupted) || !strings.Contains(err.Error(), "headers") {
			t.Errorf("%s: %v, want an error about the headers", name, err)
		}
		slow := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, own)
		if err := ask(t.Context(), slow); !errors.Is(err, api.ErrInterrupted) {
			t.Errorf("%s: %v, want an end after 50 ms", name, err)
		}
	}
}
