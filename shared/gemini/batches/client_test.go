package batches_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/batches"
)

// TestNewClient: the rules about key and address are those of package api, and no client prints its key.
func TestNewClient(t *testing.T) {
	t.Parallel()
	if _, err := batches.NewClient(batches.Options{}); !errors.Is(err, api.ErrNoAPIKey) {
		t.Errorf("%v", err)
	}
	if client, err := batches.NewClient(batches.Options{APIKey: apiKey, BaseURL: "http://elsewhere"}); err == nil ||
		client != nil || strings.Contains(err.Error(), apiKey) {
		t.Errorf("%v, %v", client, err)
	}
	client := newClient(t, batches.Options{})
	if printed := fmt.Sprintf("%v %+v %#v", client, client, client); strings.Contains(printed, apiKey) {
		t.Errorf("printed %s", printed)
	}
}

// TestTimeoutOfPiece: Options.Timeout does not end a piece, which may take longer.
func TestTimeoutOfPiece(t *testing.T) {
	t.Parallel()
	var client *batches.Client
	f := &fake{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("X-Goog-Upload-Command") {
		case "":
			<-r.Context().Done()
			return
		case "start":
			w.Header().Set("X-Goog-Upload-Url", "http://"+r.Host+"/x")
			return
		case "upload, finalize": // it lasts until a request that was sent later has timed out
			if _, err := client.Get(r.Context(), "batches/a"); err == nil || r.Context().Err() != nil {
				t.Errorf("the piece has ended first: %v", err)
			}
		}
		f.final = true
		f.answer(w, "upload, finalize")
	}))
	t.Cleanup(server.Close)
	client = newClient(t, batches.Options{BaseURL: server.URL, Timeout: time.Second})
	if file, err := client.Upload(t.Context(), "", 0, strings.NewReader("")); err != nil {
		t.Errorf("%+v, %v", file, err)
	}
}

// TestTimeout: Options.Timeout ends each small request.
func TestTimeout(t *testing.T) {
	t.Parallel()
	stuck := inProcess(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	client := newClient(t, batches.Options{
		BaseURL: "http://localhost", HTTP: &http.Client{Transport: stuck}, Timeout: time.Millisecond,
	})
	_, created := client.Create(t.Context(), request)
	_, got := client.Get(t.Context(), "batches/a")
	_, uploaded := client.Upload(t.Context(), "", 1, strings.NewReader("x"))
	for name, err := range map[string]error{
		"create": created, "get": got, "upload": uploaded, "delete": client.DeleteFile(t.Context(), "files/a"),
	} {
		if !errors.Is(err, api.ErrInterrupted) || errors.Is(err, batches.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
