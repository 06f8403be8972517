package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/genaisdk"
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

// bySDK makes a request with the SDK.
func bySDK(ctx context.Context, c *api.Client) error {
	sdk, err := genaisdk.New(ctx, c)
	if err != nil {
		return err
	}
	ctx, x := c.Watch(ctx)
	_, err = sdk.Operations.GetVideosOperation(ctx, &genai.GenerateVideosOperation{Name: "operations/abc"}, nil)
	return x.Err(err)
}

// ways are the two ways to make a request.
var ways = map[string]func(context.Context, *api.Client) error{"Get": get, "SDK": bySDK}
