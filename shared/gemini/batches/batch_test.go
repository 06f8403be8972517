package batches_test

import (
	gocmp "cmp"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

// A batch is what is asked of one.
type batch struct {
	State                                operation.State
	InputFile, OutputFile, CorrelationID string
	Requests                             int64
	UpdateTime                           time.Time
}

func read(b api.Batch) batch {
	counts := gocmp.Or(b.Result.Counts, &operation.Counts{})
	return batch{
		b.Known(), b.InputFile, b.Result.OutputFile, gemini.CorrelationIn(b.DisplayName), counts.Total, b.Since(),
	}
}

// TestGet: every state, and what is odd hides nothing else.
func TestGet(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 22, 12, 0, 0, 123456000, time.UTC)
	state := func(word string) string { return `{"name":"batches/a","metadata":{"state":"` + word + `"}}` }
	for body, want := range map[string]batch{
		state("BATCH_STATE_PENDING"):            {State: operation.Pending},
		state("BATCH_STATE_RUNNING"):            {State: operation.Running},
		state("BATCH_STATE_SUCCEEDED"):          {State: operation.Succeeded},
		state("JOB_STATE_FAILED"):               {State: operation.Failed},
		state("BATCH_STATE_CANCELLED"):          {State: operation.Cancelled},
		state("BATCH_STATE_EXPIRED"):            {State: operation.Expired},
		state("BATCH_STATE_UNSPECIFIED"):        {},
		state("BATCH_STATE_NEW"):                {},
		`{}`:                                    {},
		`{"error":{"code":503}}`:                {},
		`{"metadata":null,"name":7}`:            {},
		`{"metadata":{"inputConfig":[{}]}}`:     {},
		`{"name":"models/m/batches/a","x":[1]}`: {},
		`{"name":"batches/a","metadata":{"state":"BATCH_STATE_SUCCEEDED","displayName":"n opledger:c-1",` +
			`"updateTime":"2026-01-22T12:00:00.123456789Z","inputConfig":{"fileName":"files/in"},` +
			`"batchStats":{"requestCount":"7"},"output":{"responsesFile":"files/out"}},"done":true}`: {
			State: operation.Succeeded, InputFile: "files/in", OutputFile: "files/out", CorrelationID: "c-1", Requests: 7,
			UpdateTime: noon,
		},
		`{"metadata":{"inputConfig":{"requests":{"requests":[{"request":{}}]}},"output":{"inlinedResponses":` +
			`{"inlinedResponses":[{"response":{}},null]}},"state":"JOB_STATE_SUCCEEDED","batchStats":{"requestCount":-1}}}`: {
			State: operation.Succeeded,
		},
	} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.RequestURI != "/v1beta/batches/a" || r.Header.Get("X-Goog-Api-Key") != apiKey {
				t.Errorf("asked for %s %s", r.Method, r.RequestURI)
			}
			_, _ = io.WriteString(w, body)
		})
		got, err := client.Get(t.Context(), "batches/a")
		if diff := cmp.Diff(want, read(got)); err != nil || diff != "" {
			t.Errorf("%s: %v, -want +got\n%s", body, err, diff)
		}
	}
}

// TestGetFails: what is no answer about the batch is an error, without the key.
func TestGetFails(t *testing.T) {
	t.Parallel()
	for body, says := range map[string]string{
		``: "empty", `null`: "not a JSON object", `<html>`: "invalid character", `{"metadata":{`: "EOF", `{} {}`: "follows",
		`{"name":"batches/b"}`: "is about", `{"name":"batches/` + apiKey + `"}`: "is about",
	} {
		got, err := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }).
			Get(t.Context(), "batches/a")
		if err == nil || got != (api.Batch{}) || !strings.Contains(err.Error(), says) ||
			strings.Contains(err.Error(), apiKey) {
			t.Errorf("%s: %+v, %v, want %q", body, got, err, says)
		}
	}
	_, err := serve(t, says(404, "no "+apiKey)).Get(t.Context(), "batches/a")
	if answer, ok := errors.AsType[*api.Error](err); !ok || answer.Status != 404 || strings.Contains(err.Error(), apiKey) {
		t.Errorf("%v", err)
	}
	cut := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"metadata":{"state":"BATCH_STATE_SUCCEEDED"`)
	})
	if _, err := cut.Get(t.Context(), "batches/a"); !errors.Is(err, api.ErrInterrupted) {
		t.Errorf("cut: %v", err)
	}
	unasked := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") })
	for _, key := range []operation.Key{"", "abc", "operations/a", "interactions/a", "batches/a?b", "batches/a/../b"} {
		if _, err := unasked.Get(t.Context(), key); !errors.Is(err, operation.ErrName) {
			t.Errorf("%q: %v", key, err)
		}
	}
}
