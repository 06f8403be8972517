package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/genai/interactions/models/operations"
	sdk "google.golang.org/genai/interactions/models/webhooks"
)

// maxPages bounds List: a thousand webhooks each are more than anybody has, and a page that leads to itself must end.
const maxPages = 20

// List returns every webhook of the project.
func (c *Client) List(ctx context.Context) ([]Webhook, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	const doing = "listing the webhooks"
	size := 1000
	request := operations.ListWebhooksRequest{PageSize: &size}
	hooks := []Webhook{}
	for range maxPages {
		answer, err := c.genai.Webhooks.List(ctx, request, once())
		if err != nil {
			return nil, c.failedRead(err, doing)
		}
		page := answer.WebhookListResponse
		if page == nil {
			return nil, &Error{Doing: doing, Status: http.StatusOK, Message: "an answer without a list", read: true}
		}
		for i := range page.Webhooks {
			hooks = append(hooks, fromSDK(&page.Webhooks[i]))
		}
		if value(page.NextPageToken) == "" {
			return hooks, nil
		}
		request.PageToken = page.NextPageToken
	}
	return nil, &Error{Doing: doing, Status: http.StatusOK, Message: fmt.Sprintf("more than %d pages", maxPages), read: true}
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
	ctx, cancel, err := prepare(ctx, "reading", id)
	if err != nil {
		return Webhook{}, err
	}
	defer cancel()
	answer, err := c.genai.Webhooks.Get(ctx, operations.GetWebhookRequest{ID: id}, once())
	if err != nil {
		return Webhook{}, c.failedRead(err, "reading webhook %s", id)
	}
	return fromSDK(answer.Webhook), nil
}

// Ping makes Gemini send a ping to the webhook's address. Gemini answers alike whether the receiver can be reached or not, so
// nil says only that it will try.
func (c *Client) Ping(ctx context.Context, id string) error {
	ctx, cancel, err := prepare(ctx, "pinging", id)
	if err != nil {
		return err
	}
	defer cancel()
	if _, err := c.genai.Webhooks.Ping(ctx, operations.PingWebhookRequest{ID: id}, once()); err != nil {
		return c.failed(err, "pinging webhook %s", id)
	}
	return nil
}

// Rotate makes a new signing secret and returns it; Gemini does not tell it again. The ones before it stay valid for 24 hours,
// in which deliveries carry a signature of each, unless revokeNow ends them at once. Where the error is Unanswered the rotation
// may have been made; the remedy is another one.
func (c *Client) Rotate(ctx context.Context, id string, revokeNow bool) (string, error) {
	ctx, cancel, err := prepare(ctx, "rotating the secret of", id)
	if err != nil {
		return "", err
	}
	defer cancel()
	behaviour := sdk.RevocationBehaviorRevokePreviousSecretsAfterH24
	if revokeNow {
		behaviour = sdk.RevocationBehaviorRevokePreviousSecretsImmediately
	}
	answer, err := c.genai.Webhooks.RotateSigningSecret(ctx, operations.RotateSigningSecretRequest{
		ID: id, Body: sdk.RotateSigningSecretRequest{RevocationBehavior: &behaviour},
	}, once())
	if err != nil {
		return "", c.failed(err, "rotating the secret of webhook %s", id)
	}
	if answer.WebhookRotateSigningSecretResponse == nil || value(answer.WebhookRotateSigningSecretResponse.Secret) == "" {
		return "", &Error{Doing: "rotating the secret of webhook " + id, Status: http.StatusOK, Message: "an answer without a secret"}
	}
	return value(answer.WebhookRotateSigningSecretResponse.Secret), nil
}

// Delete ends a webhook: nothing more is delivered.
func (c *Client) Delete(ctx context.Context, id string) error {
	ctx, cancel, err := prepare(ctx, "deleting", id)
	if err != nil {
		return err
	}
	defer cancel()
	if _, err := c.genai.Webhooks.Delete(ctx, operations.DeleteWebhookRequest{ID: id}, once()); err != nil {
		return c.failed(err, "deleting webhook %s", id)
	}
	return nil
}

// Enable switches a webhook on again, and returns it as it is then. One that is enabled stays so.
func (c *Client) Enable(ctx context.Context, id string) (Webhook, error) {
	ctx, cancel, err := prepare(ctx, "enabling", id)
	if err != nil {
		return Webhook{}, err
	}
	defer cancel()
	state := sdk.WebhookUpdateStateEnabled
	answer, err := c.genai.Webhooks.Update(ctx, operations.UpdateWebhookRequest{
		ID: id, Body: sdk.WebhookUpdate{State: &state},
	}, once())
	if err != nil {
		return Webhook{}, c.failed(err, "enabling webhook %s", id)
	}
	return fromSDK(answer.Webhook), nil
}

var errID = errors.New("a webhook's id is letters, digits, - and _ only; opledger webhook list shows it")

// prepare bounds a request about one webhook. An id that would make another request of it is refused.
func prepare(ctx context.Context, doing, id string) (context.Context, context.CancelFunc, error) {
	if id == "" || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
		return nil, nil, fmt.Errorf("%s a webhook: %w", doing, errID)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	return ctx, cancel, nil
}
