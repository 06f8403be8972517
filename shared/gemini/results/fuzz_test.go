package results_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/operation"
)

// FuzzFile: the items of any file have different keys unless they are Repeated, and skipping to any
// number of keys counts as reading does [K4].
func FuzzFile(f *testing.F) {
	f.Add(strings.Join(texts(), "\n"), 3)
	f.Add("\n\n{\n\x00", 1)
	f.Fuzz(func(t *testing.T, text string, keys int) {
		client, err := results.New(results.Options{APIKey: apiKey, HTTP: &http.Client{Transport: answers(text)}})
		if err != nil {
			t.Fatal(err)
		}
		open := func() *results.Reader {
			reader, err := client.Open(t.Context(), key, operation.Result{OutputFile: file})
			if err != nil {
				t.Fatal(err)
			}
			return reader
		}
		reader := open()
		items, cut := all(reader)
		if cut != nil && !errors.Is(cut, io.ErrUnexpectedEOF) {
			t.Fatal(cut)
		}
		seen := map[string]bool{"": true}
		for i, item := range items {
			if item.Key != "" && seen[item.Key] != item.Repeated || len(item.Key) > 256 || item.Index != int64(i) ||
				(item.Response == nil) == (item.Error == nil) {
				t.Fatalf("%+v", item)
			}
			seen[item.Key] = true
		}
		if cut != nil || keys < 0 || keys > len(seen)-1 {
			return
		}
		skipped := open()
		if err := skipped.Skip(int64(keys)); err != nil || skipped.Tally().Keys != int64(keys) {
			t.Fatalf("%d keys: %+v, %v", keys, skipped.Tally(), err)
		}
		if _, err := all(skipped); err != nil || skipped.Tally() != reader.Tally() {
			t.Errorf("behind %d keys: %v, %+v, want %+v", keys, err, skipped.Tally(), reader.Tally())
		}
	})
}

// answers is a server without a network.
type answers string

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	_, err := w.WriteString(string(a))
	return w.Result(), err
}
