package geminisim

import (
	"encoding/json"
	"net/http"
	"strings"
)

// The JSON of interactions is snake_case: measured against SDK v1.77.0.

type interactionRequest struct {
	Model         string                    `json:"model"`
	Agent         string                    `json:"agent"`
	Input         json.RawMessage           `json:"input"`
	Background    bool                      `json:"background"`
	Store         *bool                     `json:"store"`
	WebhookConfig *interactionWebhookConfig `json:"webhook_config"`
}

type interactionWebhookConfig struct {
	URIs         []string       `json:"uris,omitempty"`
	UserMetadata map[string]any `json:"user_metadata,omitempty"`
}

func (c *interactionWebhookConfig) config() webhookConfig {
	if c == nil {
		return webhookConfig{}
	}
	return webhookConfig(*c)
}

type interactionJSON struct {
	ID            string                    `json:"id"`
	Model         string                    `json:"model,omitempty"`
	Agent         string                    `json:"agent,omitempty"`
	Status        State                     `json:"status"`
	Created       string                    `json:"created"`
	Updated       string                    `json:"updated"`
	Steps         []interactionStep         `json:"steps,omitempty"`
	Errors        []interactionError        `json:"errors,omitempty"`
	WebhookConfig *interactionWebhookConfig `json:"webhook_config,omitempty"`
}

type interactionStep struct {
	Type    string            `json:"type"`
	Content []interactionText `json:"content"`
}

type interactionText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type interactionError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// check refuses what the API would refuse, and what is not simulated; "" if nothing.
func (req *interactionRequest) check() string {
	switch {
	case (req.Model == "") == (req.Agent == ""):
		return "One of model and agent is required."
	case len(req.Input) == 0:
		return "input is required."
	case !req.Background && req.WebhookConfig != nil:
		return "webhook_config needs background=true."
	case req.Background && req.Store != nil && !*req.Store:
		return "background=true needs store=true."
	case !req.Background:
		return "The simulator knows interactions in the background only."
	}
	return ""
}

// interactionLabel is the input in the body of a creation; what cannot be read, the handler
// refuses.
func interactionLabel(body []byte) string {
	var create interactionRequest
	_ = json.Unmarshal(body, &create)
	return inputText(create.Input)
}

// inputText is an input that is plain text, and "" for any other.
func inputText(input json.RawMessage) string {
	var text string
	_ = json.Unmarshal(input, &text)
	return text
}

// interactionErrorBody is an error with a string code: `not_found` was seen live, that the others
// are the canonical names in lower case is a guess.
func interactionErrorBody(status int, message string) []byte {
	code := strings.ToLower(statusNames[status])
	if code == "" {
		code = "unknown"
	}
	return mustJSON(map[string]any{"error": interactionError{code, message}})
}

func writeInteractionError(w http.ResponseWriter, status int, message string) {
	write(w, status, interactionErrorBody(status, message))
}

func writeNoInteraction(w http.ResponseWriter) {
	writeInteractionError(w, http.StatusNotFound, "Requested entity was not found.")
}
