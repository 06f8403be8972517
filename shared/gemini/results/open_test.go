package results_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/operation"
)

// TestFileThatTheBatchNames: a record that does not say where the results are.
func TestFileThatTheBatchNames(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1beta/batches/abc" {
			_, _ = io.WriteString(w, `{"metadata":{"output":{"responsesFile":"`+file+`"}}}`)
			return
		}
		_, _ = io.WriteString(w, lines[0].text)
	})
	if got, err := read(client, operation.Result{}); err != nil || len(got) != 1 {
		t.Errorf("%v %v", show(got), err)
	}
}

// TestNames: the valid and invalid names of a result file.
func TestNames(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1beta/"+file+":download" {
			http.Error(w, r.URL.Path, http.StatusTeapot)
		}
	})
	for name, ok := range map[string]bool{
		file: true, "/" + file: true, file + ":download?alt=media": true,
		"https://generativelanguage.googleapis.com/v1beta/" + file + ":download?alt=media": true,
		"gs://bucket/results.jsonl": false, "files/": false, "files/..": false, "files/a/b": false, "files/a%2f": false,
		"files/a b": false,
	} {
		_, err := read(client, operation.Result{OutputFile: name})
		if ok && err != nil || !ok && !errors.Is(err, results.ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, other := range []operation.Key{"operations/v", "interactions/i", "batches/a/b", "x"} {
		if _, err := client.Open(t.Context(), other, operation.Result{OutputFile: file}); !errors.Is(err, results.ErrNone) {
			t.Errorf("%s: %v, want ErrNone", other, err)
		}
	}
}

// TestRefused: which answers mean that the results are lost, and which are transient.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, batch int // the answers to the download and to the batch
		inline      bool
		lost        bool
	}{
		{file: 404, lost: true}, {file: 410, lost: true},
		{file: 403, batch: 200, lost: true}, {file: 403, batch: 404, lost: true},
		{file: 403, batch: 403}, {file: 403, batch: 401}, {file: 403, batch: 503}, // the key, not the file
		{file: 429}, {file: 500}, {file: 503}, {file: 400}, {file: 401}, {file: 302}, {file: 204},
		{inline: true, batch: 404, lost: true}, {inline: true, batch: 410, lost: true},
		{inline: true, batch: 403}, {inline: true, batch: 429}, {inline: true, batch: 503},
	} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			status := c.batch
			if strings.Contains(r.URL.Path, "/files/") {
				status = c.file
			}
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(status)
			if status != http.StatusNoContent {
				_, _ = io.WriteString(w, "no, "+r.Header.Get("X-Goog-Api-Key"))
			}
		})
		result := operation.Result{OutputFile: file}
		if c.inline {
			result = operation.Result{Inline: true}
		}
		_, err := read(client, result)
		var refused *api.Error
		if errors.Is(err, results.ErrNotFound) != c.lost || !errors.As(err, &refused) || refused.RetryAfter != 7*time.Second {
			t.Errorf("%+v: %v", c, err)
		}
		if strings.Contains(fmt.Sprintf("%v %+v %#v", err, client, results.Options{APIKey: apiKey}), apiKey) {
			t.Errorf("the key is in %v", err)
		}
	}
}

// TestSimulator: the results of a simulated batch are read, by file and inline.
func TestSimulator(t *testing.T) {
	t.Parallel()
	sim := geminisim.New(geminisim.Config{Seed: 1, Faults: geminisim.Faults{FailedItems: 0.5}})
	server := httptest.NewServer(sim.Handler())
	defer sim.Close()
	defer server.Close()
	submitter, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: apiKey, Backend: genai.BackendGeminiAPI, HTTPClient: server.Client(),
		HTTPOptions: genai.HTTPOptions{BaseURL: server.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := clientOf(t, server)
	for name, source := range map[string]*genai.BatchJobSource{
		"file": {FileName: "files/input"},
		"inline": {InlinedRequests: []*genai.InlinedRequest{
			{Contents: genai.Text("a"), Metadata: map[string]string{"key": "review-1"}}, {Contents: genai.Text("b")},
		}},
	} {
		job, err := submitter.Batches.Create(t.Context(), "m", source, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := sim.SetState(job.Name, geminisim.StateSucceeded); err != nil {
			t.Fatal(err)
		}
		reader, err := client.Open(t.Context(), operation.Key(job.Name), operation.Result{})
		if err != nil {
			t.Fatal(err)
		}
		item, err := reader.Next()
		want := map[string]string{"file": "request-1", "inline": "review-1"}[name]
		if err != nil || item.Key != want || (item.Response == nil) == (item.Error == nil) {
			t.Errorf("%s: %+v %v", name, item, err)
		}
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}
}
