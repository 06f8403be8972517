package webhooks

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/diag"
)

// Created is a new webhook, with its secret.
type Created struct {
	Webhook

	// Secret is the signing secret. Gemini returns it only here. It is empty if Gemini did not.
	Secret string `json:"-"`
	// Refused are the events that Gemini did not accept.
	Refused []string
}

// String leaves the secret out, however c is printed.
func (c Created) String() string { return "webhook " + c.ID }

// GoString is String, for %#v.
func (c Created) GoString() string { return c.String() }

// Create registers a webhook for every event that Gemini accepts. It subscribes to all of Events;
// after a 400, to those that the answer lists, or else to AcceptedEvents. If the error is
// Unanswered there may be a webhook whose secret is lost.
func (c *Client) Create(ctx context.Context, name, uri string) (Created, error) {
	events := Events()
	created, err := c.create(ctx, name, uri, events)
	if failure, ok := errors.AsType[*Error](err); ok && failure.Status == http.StatusBadRequest {
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
	body := struct {
		Name   string   `json:"name,omitempty"`
		Events []string `json:"subscribed_events"`
		URI    string   `json:"uri"`
	}{name, events, uri}
	creating := call{doing: "creating a webhook for " + uri}
	var answer wire
	if err := c.do(ctx, creating, http.MethodPost, collection, nil, body, &answer); err != nil {
		return Created{}, err
	}
	if answer.ID == "" {
		return Created{}, creating.unreadable("an answer without a webhook")
	}
	return Created{Webhook: answer.webhook(), Secret: answer.NewSecret}, nil
}

// listed matches the words before a list of accepted events, as in "Supported values: …".
var listed = diag.Pattern(`(?i)\b(?:supported|valid|allowed|accepted|one of)\b`)

// accepted returns those of Events that a refusal lists as accepted: those after the last match of
// listed. The refused ones come before it.
func accepted(refusal string) []string {
	places := listed().FindAllStringIndex(refusal, -1)
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
