package results_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/operation"
)

// TestOpenJob: the results of a job are read from where its record says they are, and Gemini is not asked.
func TestOpenJob(t *testing.T) {
	t.Parallel()
	none, err := results.New(results.Options{APIKey: "key", BaseURL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	const place = "gs://bucket/nightly/0a1b/results.jsonl"
	client := none.WithJobs(func(_ context.Context, asked string) (io.ReadCloser, error) {
		if asked != place {
			return nil, errors.New("there is no " + asked)
		}
		return io.NopCloser(strings.NewReader(`{"key":"a","response":{"text":1},"outcome":"done","attempts":1}
{"key":"b","error":{"message":"m"},"outcome":"failed","attempts":3}
`)), nil
	})
	reader, err := client.Open(t.Context(), "jobs/nightly", operation.Result{OutputFile: place})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }() // it was read
	for _, want := range []string{`a {"text":1} `, `b  {"message":"m"}`} {
		item, err := reader.Next()
		if got := item.Key + " " + string(item.Response) + " " + string(item.Error); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if _, err := reader.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("behind the last: %v", err)
	}
	if n, err := client.Count(t.Context(), "jobs/nightly"); n != 0 || err != nil {
		t.Errorf("counted %d, %v", n, err)
	}
	for name, c := range map[string]struct {
		client *results.Client
		place  string
		none   bool
	}{
		"no way to open them": {none, place, true}, "no results": {client, "", true},
		"another place": {client, "elsewhere", false},
	} {
		_, err := c.client.Open(t.Context(), "jobs/nightly", operation.Result{OutputFile: c.place})
		if err == nil || errors.Is(err, results.ErrNone) != c.none {
			t.Errorf("%s: %v", name, err)
		}
	}
}
