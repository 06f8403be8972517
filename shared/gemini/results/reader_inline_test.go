package results_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/operation"
)

// TestInline: the same items inline, in every place of the batch.
func TestInline(t *testing.T) {
	t.Parallel()
	list := `{"inlinedResponses":{"inlinedResponses":[` + strings.Join(texts(), ",\n") + `]}}`
	for name, body := range map[string]string{
		"in metadata": `{"name":"batches/abc","metadata":{"x":[{}],"output":` + list + `},"done":true,` +
			`"response":` + list + `}`,
		"in response":  `{"response":` + list + `}`,
		"empty before": `{"metadata":{"output":{"inlinedResponses":{"inlinedResponses":[]}}},"response":` + list + `}`,
		"null before": `{"metadata":{"inputConfig":{"requests":{"requests":[[[]],{}]}},"output":null},` +
			`"response":` + list + `}`,
		"embeddings": `{"response":` + strings.ReplaceAll(list, "inlinedResponses", "inlinedEmbedContentResponses") + `}`,
	} {
		client := serve(t, says(body))
		got, err := read(client, operation.Result{Inline: true})
		if diff := cmp.Diff(wants(), show(got)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// TestLargeInline: an inline item that is too large ends the results.
func TestLargeInline(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"response":{"inlinedResponses":{"inlinedResponses":[{"response":1},{"response":"`)
		chunk := strings.Repeat("x", 1<<20)
		for range 34 {
			_, _ = io.WriteString(w, chunk)
		}
	})
	if got, err := read(client, operation.Result{Inline: true}); !errors.Is(err, results.ErrTooLarge) || len(got) != 1 {
		t.Errorf("%d items, %v", len(got), err)
	}
}

// TestNoItems: a batch that is done and has no items has none. Where it had some inline they are not
// found. An answer that is stale, or says nothing, is asked for again.
func TestNoItems(t *testing.T) {
	t.Parallel()
	for _, member := range []string{`"metadata":null`, `"error":{"code":5}`, `"response":{"inlinedResponses":[]}`} {
		for inline, want := range map[bool]error{true: results.ErrNotFound, false: results.ErrNone} {
			_, err := read(serve(t, says(`{"done":true,`+member+`}`)), operation.Result{Inline: inline})
			if !errors.Is(err, want) {
				t.Errorf("%s, inline before %v: %v, want %v", member, inline, err, want)
			}
			_, err = read(serve(t, says(`{`+member+`}`)), operation.Result{Inline: inline})
			if err == nil || errors.Is(err, results.ErrNone) || errors.Is(err, results.ErrNotFound) {
				t.Errorf("%s, not done: %v", member, err)
			}
		}
	}
}
