package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/gemini/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const apiKey = "the-key-of-the-project"

var noon = time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC)

// serve returns a client for a Gemini that answers as handler does.
func serve(t *testing.T, handler http.HandlerFunc, options ...func(*api.Options)) *api.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o := api.Options{
		APIKey: apiKey, BaseURL: server.URL, HTTP: server.Client(), Now: func() time.Time { return noon },
	}
	for _, option := range options {
		option(&o)
	}
	client, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// get makes a request with Get, and closes the body.
func get(ctx context.Context, c *api.Client) error {
	body, err := c.Get(ctx, "batches/abc", nil)
	if err != nil {
		return err
	}
	return body.Close()
}

// call makes a request with Call.
func call(ctx context.Context, c *api.Client) error {
	return c.Call(ctx, http.MethodGet, "operations/abc", nil, nil, &struct{}{})
}

// ways are the two ways to make a request.
var ways = map[string]func(context.Context, *api.Client) error{"Get": get, "Call": call}
