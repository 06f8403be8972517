package webhooks

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/genai/interactions/models/operations"
	sdk "google.golang.org/genai/interactions/models/webhooks"

	"github.com/opledger/opledger/shared/gemini/genaisdk"
)

// maxPages bounds List: a project has fewer than twenty thousand webhooks, and a page that leads to
// itself must end.
const maxPages = 20

// List returns every webhook of the project.
func (c *Client) List(ctx context.Context) ([]Webhook, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout) // for all pages together
	defer cancel()
	listing := call{doing: "listing the webhooks", read: true}
	size := 1000
	request := operations.ListWebhooksRequest{PageSize: &size}
	hooks := []Webhook{}
	for range maxPages {
		answer, err := do(ctx, c, listing, func(ctx context.Context) (*operations.ListWebhooksResponse, error) {
			return c.sdk.Webhooks.List(ctx, request, genaisdk.Once())
		})
		if err != nil {
			return nil, err
		}
		page := answer.WebhookListResponse
		if page == nil {
			return nil, listing.unreadable("an answer without a list")
		}
		for i := range page.Webhooks {
			hooks = append(hooks, fromSDK(&page.Webhooks[i]))
		}
		if value(page.NextPageToken) == "" {
			return hooks, nil
		}
		request.PageToken = page.NextPageToken
	}
	return nil, listing.unreadable(fmt.Sprintf("more than %d pages", maxPages))
}

// Find returns the webhooks that deliver to an address, as SameURL compares it; none is no error.
func (c *Client) Find(ctx context.Context, uri string) ([]Webhook, error) {
	all, err := c.List(ctx)
	var found []Webhook
	for _, hook := range all {
		if SameURL(hook.URI, uri) {
			found = append(found, hook)
		}
	}
	return found, err
}

// Get returns a webhook.
func (c *Client) Get(ctx context.Context, id string) (Webhook, error) {
	reading, err := about("reading", id)
	if err != nil {
		return Webhook{}, err
	}
	reading.read = true
	answer, err := do(ctx, c, reading, func(ctx context.Context) (*operations.GetWebhookResponse, error) {
		return c.sdk.Webhooks.Get(ctx, operations.GetWebhookRequest{ID: id}, genaisdk.Once())
	})
	if err != nil {
		return Webhook{}, err
	}
	return fromSDK(answer.Webhook), nil
}

// Ping makes Gemini send a ping to the webhook's address. nil means only that Gemini will try: it
// does not report whether the receiver was reached.
func (c *Client) Ping(ctx context.Context, id string) error {
	pinging, err := about("pinging", id)
	if err != nil {
		return err
	}
	_, err = do(ctx, c, pinging, func(ctx context.Context) (*operations.PingWebhookResponse, error) {
		return c.sdk.Webhooks.Ping(ctx, operations.PingWebhookRequest{ID: id}, genaisdk.Once())
	})
	return err
}

// Rotate makes a new signing secret and returns it; Gemini returns it only here. Older secrets stay
// valid for 24 hours, in which a delivery has a signature of each; revokeNow ends them at once. If
// the error is Unanswered the secret may have been rotated; rotate again.
func (c *Client) Rotate(ctx context.Context, id string, revokeNow bool) (string, error) {
	rotating, err := about("rotating the secret of", id)
	if err != nil {
		return "", err
	}
	behaviour := sdk.RevocationBehaviorRevokePreviousSecretsAfterH24
	if revokeNow {
		behaviour = sdk.RevocationBehaviorRevokePreviousSecretsImmediately
	}
	answer, err := do(ctx, c, rotating, func(ctx context.Context) (*operations.RotateSigningSecretResponse, error) {
		return c.sdk.Webhooks.RotateSigningSecret(ctx, operations.RotateSigningSecretRequest{
			ID: id, Body: sdk.RotateSigningSecretRequest{RevocationBehavior: &behaviour},
		}, genaisdk.Once())
	})
	if err != nil {
		return "", err
	}
	rotated := answer.WebhookRotateSigningSecretResponse
	if rotated == nil || value(rotated.Secret) == "" {
		return "", rotating.unreadable("an answer without a secret")
	}
	return value(rotated.Secret), nil
}

// Delete deletes a webhook. Nothing more is delivered.
func (c *Client) Delete(ctx context.Context, id string) error {
	deleting, err := about("deleting", id)
	if err != nil {
		return err
	}
	_, err = do(ctx, c, deleting, func(ctx context.Context) (*operations.DeleteWebhookResponse, error) {
		return c.sdk.Webhooks.Delete(ctx, operations.DeleteWebhookRequest{ID: id}, genaisdk.Once())
	})
	return err
}

// Enable switches a webhook on and returns it. An enabled one stays so.
func (c *Client) Enable(ctx context.Context, id string) (Webhook, error) {
	enabling, err := about("enabling", id)
	if err != nil {
		return Webhook{}, err
	}
	state := sdk.WebhookUpdateStateEnabled
	answer, err := do(ctx, c, enabling, func(ctx context.Context) (*operations.UpdateWebhookResponse, error) {
		return c.sdk.Webhooks.Update(ctx, operations.UpdateWebhookRequest{
			ID: id, Body: sdk.WebhookUpdate{State: &state},
		}, genaisdk.Once())
	})
	if err != nil {
		return Webhook{}, err
	}
	return fromSDK(answer.Webhook), nil
}

// about returns a call about one webhook. The error wraps ErrID for an id that would change the
// request.
func about(doing, id string) (call, error) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if id == "" || strings.Trim(id, letters+"0123456789-_") != "" {
		return call{}, fmt.Errorf("%s a webhook: %w", doing, ErrID)
	}
	return call{doing: doing + " webhook " + id}, nil
}
