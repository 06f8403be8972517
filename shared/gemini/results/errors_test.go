package results_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/operation"
)

// TestErrorKeepsKey: neither what Gemini repeats of a request nor the URL that net/http quotes
// brings the key, or a password, into an error, however it is encoded.
func TestErrorKeepsKey(t *testing.T) {
	t.Parallel()
	encoded := []string{apiKey, url.QueryEscape(apiKey), strings.ReplaceAll(apiKey, "-", `\u002d`), base64.StdEncoding.EncodeToString([]byte(apiKey))}
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "you sent "+strings.Join(encoded, ", "))
	})
	_, err := read(client, operation.Result{OutputFile: file}, 0)
	for _, said := range encoded {
		if err == nil || strings.Contains(err.Error(), said) || !strings.Contains(err.Error(), "you sent [API key]") {
			t.Errorf("%v", err)
		}
	}
	client, err = results.New(results.Options{APIKey: apiKey, BaseURL: "http://alice-of-ops:hunter2@127.0.0.1:1/"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = read(client, operation.Result{OutputFile: file}, 0)
	if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "alice") || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("%v", err)
	}
}
