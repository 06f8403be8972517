package results_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/operation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	apiKey               = "key-of-the-project"
	key    operation.Key = "batches/abc"
	file                 = "files/batch-abc-123"
)

// serve returns a client for a Gemini that answers as handler does.
func serve(t testing.TB, handler http.HandlerFunc) *results.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return clientOf(t, server)
}

func clientOf(t testing.TB, server *httptest.Server) *results.Client {
	t.Helper()
	client, err := results.New(results.Options{APIKey: apiKey, BaseURL: server.URL, HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// says answers every request with body.
func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

// read returns all items.
func read(client *results.Client, result operation.Result) ([]results.Item, error) {
	reader, err := client.Open(context.Background(), key, result)
	if err != nil {
		return nil, err
	}
	return all(reader)
}

// all returns the items that are left, and closes the reader.
func all(reader *results.Reader) (items []results.Item, err error) {
	defer func() { err = errors.Join(err, reader.Close()) }()
	for {
		item, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return items, nil
		}
		if err != nil {
			return items, err
		}
		items = append(items, item)
	}
}

// show writes items for comparing.
func show(items []results.Item) []string {
	var lines []string
	for _, item := range items {
		key := item.Key
		if item.Repeated {
			key += " again"
		}
		said := "response " + string(item.Response)
		if item.Error != nil {
			said = "error " + string(item.Error)
		}
		if !json.Valid(append(append(json.RawMessage{}, item.Response...), item.Error...)) {
			said += " (not JSON)"
		}
		lines = append(lines, fmt.Sprintf("%d %s: %s", item.Index, key, said))
	}
	return lines
}
