package results_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/results"
)

// TestCount: the number of items is the batch's request count, anywhere in the answer.
func TestCount(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]int64{
		`{"metadata":{"output":{"responsesFile":"files/x"},"batchStats":{"pendingRequestCount":"1",` +
			`"requestCount":"10000"}},"done":true}`: 10_000,
		`{"name":"batches/abc","metadata":{"batchStats":{"requestCount":"7"`: 7,
		`{"metadata":{"batchStats":{}}}`:                                     0,
		`{"metadata":{"batchStats":{"requestCount":null}}}`:                  0,
		`{"metadata":null}`: 0,
		`[]`:                0,
		`{"metadata":{"batchStats":{"requestCount":"many"}}}`: -1, `{"metadata":{"batchStats":{"requestCount":"-1"}}}`: -1,
		`{"metadata":{"batchStats"`: -1, `{"metadata":{"batchStats":{"requestCount"`: -1, `not JSON`: -1, ``: -1,
	} {
		got, err := serve(t, says(answer)).Count(t.Context(), key)
		if (err != nil) != (want < 0) || got != max(want, 0) {
			t.Errorf("%s: %d, %v", answer, got, err)
		}
	}
	refusing := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	var refused *api.Error
	if _, err := refusing.Count(t.Context(), key); !errors.As(err, &refused) {
		t.Errorf("%v, want an *api.Error", err)
	}
	if _, err := refusing.Count(t.Context(), "operations/video"); !errors.Is(err, results.ErrNone) {
		t.Errorf("%v, want ErrNone", err)
	}
}
