package results_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/operation"
)

// FuzzFile: the items of any file have unique keys, and reading from any item on gives the same
// items as reading from the start [K4].
func FuzzFile(f *testing.F) {
	f.Add(strings.Join(texts(), "\n"), 3)
	f.Add("\n\n{\n\x00", 1)
	f.Fuzz(func(t *testing.T, text string, from int) {
		client, err := results.New(results.Options{APIKey: apiKey, HTTP: &http.Client{Transport: answers(text)}})
		if err != nil {
			t.Fatal(err)
		}
		all, err := read(client, operation.Result{OutputFile: file}, 0)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i, item := range all {
			if seen[item.Key] || item.Key == "" || len(item.Key) > 256 || item.Index != int64(i) ||
				(item.Response == nil) == (item.Error == nil) {
				t.Fatalf("%+v", item)
			}
			seen[item.Key] = true
		}
		if from < 0 || from > len(all) {
			return
		}
		rest, err := read(client, operation.Result{OutputFile: file}, int64(from))
		if diff := cmp.Diff(show(all[from:]), show(rest)); err != nil || diff != "" {
			t.Errorf("from %d: %v %s", from, err, diff)
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
