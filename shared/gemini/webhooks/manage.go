package webhooks

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// collection is where Gemini has the webhooks.
const collection = "webhooks"

// maxPages bounds List: a project has fewer than twenty thousand webhooks, and a page that leads to
// itself must end.
const maxPages = 20

// List returns every webhook of the project.
func (c *Client) List(ctx context.Context) ([]Webhook, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout) // for all pages together
	defer cancel()
	listing := call{doing: "listing the webhooks", read: true}
	query := url.Values{"page_size": {"1000"}}
	hooks := []Webhook{}
	for range maxPages {
		var page struct {
			Webhooks      []wire `json:"webhooks"`
			NextPageToken string `json:"next_page_token"`
		}
		if err := c.do(ctx, listing, http.MethodGet, collection, query, nil, &page); err != nil {
			return nil, err
		}
		for _, hook := range page.Webhooks {
			hooks = append(hooks, hook.webhook())
		}
		if page.NextPageToken == "" {
			return hooks, nil
		}
		query.Set("page_token", page.NextPageToken)
	}
	return nil, listing.unreadable(fmt.Sprintf("more than %d pages", maxPages))
}

// Find returns the webhooks that deliver to an address, as SameURL compares it; none is no error.
func (c *Client) Find(ctx context.Context, uri string) ([]Webhook, error) {
	all, err := c.List(ctx)
	return slices.DeleteFunc(all, func(hook Webhook) bool { return !SameURL(hook.URI, uri) }), err
}

// Get returns a webhook.
func (c *Client) Get(ctx context.Context, id string) (Webhook, error) {
	var answer wire
	if err := c.one(ctx, call{doing: "reading", read: true}, http.MethodGet, id, "", nil, &answer); err != nil {
		return Webhook{}, err
	}
	return answer.webhook(), nil
}

// Ping makes Gemini send a ping to the webhook's address. nil means only that Gemini will try: it
// does not report whether the receiver was reached.
func (c *Client) Ping(ctx context.Context, id string) error {
	return c.one(ctx, call{doing: "pinging"}, http.MethodPost, id, ":ping", nil, &struct{}{})
}

// Rotate makes a new signing secret and returns it; Gemini returns it only here. Older secrets stay
// valid for 24 hours, in which a delivery has a signature of each; revokeNow ends them at once. If
// the error is Unanswered the secret may have been rotated; rotate again.
func (c *Client) Rotate(ctx context.Context, id string, revokeNow bool) (string, error) {
	rotating := call{doing: "rotating the secret of"}
	in := map[string]string{"revocation_behavior": "revoke_previous_secrets_after_h24"}
	if revokeNow {
		in["revocation_behavior"] = "revoke_previous_secrets_immediately"
	}
	var answer struct {
		Secret string `json:"secret"`
	}
	if err := c.one(ctx, rotating, http.MethodPost, id, ":rotateSigningSecret", in, &answer); err != nil {
		return "", err
	}
	if answer.Secret == "" {
		return "", rotating.of(id).unreadable("an answer without a secret")
	}
	return answer.Secret, nil
}

// Delete deletes a webhook. Nothing more is delivered.
func (c *Client) Delete(ctx context.Context, id string) error {
	return c.one(ctx, call{doing: "deleting"}, http.MethodDelete, id, "", nil, &struct{}{})
}

// Enable switches a webhook on and returns it. An enabled one stays so.
func (c *Client) Enable(ctx context.Context, id string) (Webhook, error) {
	var answer wire
	in := map[string]string{"state": Enabled}
	if err := c.one(ctx, call{doing: "enabling"}, http.MethodPatch, id, "", in, &answer); err != nil {
		return Webhook{}, err
	}
	return answer.webhook(), nil
}

// one makes a request about one webhook. The error wraps ErrID for an id that would change the
// request.
func (c *Client) one(ctx context.Context, what call, method, id, verb string, in, answer any) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if id == "" || strings.Trim(id, letters+"0123456789-_") != "" {
		return fmt.Errorf("%s a webhook: %w", what.doing, ErrID)
	}
	return c.do(ctx, what.of(id), method, collection+"/"+id+verb, nil, in, answer)
}

// of returns the call with the webhook's id in what is attempted.
func (what call) of(id string) call {
	return call{doing: what.doing + " webhook " + id, read: what.read}
}
