package webhooks

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/genai/interactions/models/operations"
	sdk "google.golang.org/genai/interactions/models/webhooks"

	"github.com/opledger/opledger/shared/gemini/api"
)

// Created is a new webhook, with what is told only now.
type Created struct {
	Webhook

	// Secret is what its deliveries are signed with. Gemini does not tell it again. It is empty if
	// Gemini did not tell it.
	Secret string `json:"-"`
	// Refused are the events that Gemini does not let a webhook subscribe to.
	Refused []string
}

// String leaves the secret out, however c is printed.
func (c Created) String() string { return "webhook " + c.ID }

// GoString is String, for %#v.
func (c Created) GoString() string { return c.String() }

// Create registers a webhook for every event that Gemini accepts: it asks for all of Events, and
// where Gemini answers 400, for those that the answer names, or else for AcceptedEvents. Where the
// error is Unanswered there may be a webhook whose secret that is lost.
func (c *Client) Create(ctx context.Context, name, uri string) (Created, error) {
	events := Events()
	created, err := c.create(ctx, name, uri, events)
	var failure *Error
	if errors.As(err, &failure) && failure.Status == http.StatusBadRequest {
		events = accepted(failure.Message)
		created, err = c.create(ctx, name, uri, events)
	}
	if err != nil {
		return Created{}, err
	}
	for _, event := range Events() {
		if !slices.Contains(events, event) {
			created.Refused = append(created.Refused, event)
		}
	}
	return created, nil
}

func (c *Client) create(ctx context.Context, name, uri string, events []string) (Created, error) {
	body := sdk.WebhookInput{URI: uri}
	if name != "" {
		body.Name = &name
	}
	for _, event := range events {
		body.SubscribedEvents = append(body.SubscribedEvents, sdk.WebhookSubscribedEvent(event))
	}
	creating := call{doing: "creating a webhook for " + uri}
	answer, err := do(ctx, c, creating, func(ctx context.Context) (*operations.CreateWebhookResponse, error) {
		return c.sdk.Webhooks.Create(ctx, operations.CreateWebhookRequest{Body: body}, api.Once())
	})
	if err != nil {
		return Created{}, err
	}
	created := Created{Webhook: fromSDK(answer.Webhook)}
	if created.ID == "" {
		return Created{}, creating.unreadable("an answer without a webhook")
	}
	created.Secret = value(answer.Webhook.NewSigningSecret)
	return created, nil
}

// listed is what introduces the events that would be accepted: "Supported values: …".
var listed = regexp.MustCompile(`(?i)\b(?:supported|valid|allowed|accepted|one of)\b`)

// accepted returns those of Events that a refusal says are accepted. Before the last word that
// introduces them stands what was refused.
func accepted(refusal string) []string {
	places := listed.FindAllStringIndex(refusal, -1)
	if len(places) == 0 {
		return AcceptedEvents()
	}
	rest := refusal[places[len(places)-1][1]:]
	named := slices.DeleteFunc(Events(), func(event string) bool { return !strings.Contains(rest, event) })
	if len(named) == 0 || len(named) == len(Events()) {
		return AcceptedEvents()
	}
	return named
}
