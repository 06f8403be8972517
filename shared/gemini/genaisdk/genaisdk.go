// Package genaisdk makes clients of Gemini's official SDK that send through an api.Client. It is apart
// from that because whatever imports the SDK starts its package variables, too, and the functions
// that never ask Gemini start while a caller waits.
package genaisdk

import (
	"context"
	"fmt"

	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/operations"
	"google.golang.org/genai/interactions/retry"

	"github.com/opledger/opledger/shared/gemini/api"
)

// maxMessage bounds, in bytes, what is repeated of an error of the SDK.
const maxMessage = 512

// New returns a client of the official SDK that sends through c. Each call of it must be made under
// a context of [api.Client.Watch], and the calls of its half for interactions and webhooks with
// [Once]. The error does not hold the key.
func New(ctx context.Context, c *api.Client) (*genai.Client, error) {
	access := c.Access()
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey:      access.Key,
		Backend:     genai.BackendGeminiAPI, // else the environment may turn it to another service
		HTTPClient:  access.HTTP,
		HTTPOptions: genai.HTTPOptions{BaseURL: access.BaseURL, APIVersion: access.Version},
	})
	if err != nil {
		// The SDK prints its whole configuration, with the key, into some errors.
		return nil, fmt.Errorf("making a client of the SDK: %s", c.Redact(err.Error(), maxMessage))
	}
	return client, nil
}

// Once switches off what the SDK's half for interactions and webhooks does by default: to repeat a
// failed request four times, also one that creates.
func Once() operations.Option { return operations.WithRetries(retry.Config{Strategy: "none"}) }
