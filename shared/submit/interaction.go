package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"google.golang.org/genai/interactions/models/interactions"
	"google.golang.org/genai/interactions/models/operations"
	"google.golang.org/genai/interactions/retry"

	"github.com/opledger/opledger/shared/operation"
)

// Interaction submits an interaction with a model or an agent. It sets background and store,
// without which there is no operation to track, and adds the correlation id to the user metadata.
// body must not ask for a stream. An interaction cannot be listed: until it is registered only its
// event can show it. Errors: ErrInput, before an intent is recorded; otherwise as Submit.
func (s *Submitter) Interaction(
	ctx context.Context, said operation.Submission, body operations.CreateInteractionRequestBody,
) (Submitted, error) {
	if err := errors.Join(checkInteraction(body), s.checkAddress(nil)); err != nil {
		return Submitted{}, err
	}
	return s.Submit(ctx, said, operation.Interactions, func(ctx context.Context, mark Mark) (string, error) {
		// This half of the SDK retries four times by default, even a creation.
		once := operations.WithRetries(retry.Config{Strategy: "none"})
		created, err := s.options.Gemini.Interactions.Create(
			ctx, operations.CreateInteractionRequest{Body: mark.interaction(body)}, once,
		)
		if err != nil {
			return "", RequestError(err)
		}
		if created.Interaction == nil || created.Interaction.ID == nil || *created.Interaction.ID == "" {
			return "", nil
		}
		return string(operation.Interactions) + "/" + *created.Interaction.ID, nil
	})
}

func checkInteraction(body operations.CreateInteractionRequestBody) error {
	model, agent := body.CreateModelInteraction, body.CreateAgentInteraction
	streamed := cmp.Or(model.GetStream(), agent.GetStream())
	switch {
	case model == nil && agent == nil:
		return fmt.Errorf("%w: an interaction needs a model or an agent", ErrInput)
	case streamed != nil && *streamed:
		return fmt.Errorf("%w: a streamed interaction runs in the foreground; leave stream out", ErrInput)
	default:
		return nil
	}
}

// interaction returns a copy of body, in the background, stored and marked.
func (m Mark) interaction(body operations.CreateInteractionRequestBody) operations.CreateInteractionRequestBody {
	yes := true
	if model := body.CreateModelInteraction; model != nil {
		marked := *model
		marked.Background, marked.Store, marked.WebhookConfig = &yes, &yes, m.interactionWebhook(model.WebhookConfig)
		return operations.NewCreateInteractionRequestBody(marked)
	}
	marked := *body.CreateAgentInteraction
	marked.Background, marked.Store, marked.WebhookConfig = &yes, &yes, m.interactionWebhook(marked.WebhookConfig)
	return operations.NewCreateInteractionRequestBody(marked)
}

func (m Mark) interactionWebhook(own *interactions.WebhookConfig) *interactions.WebhookConfig {
	marked := *cmp.Or(own, &interactions.WebhookConfig{})
	marked.UserMetadata = m.Metadata(marked.UserMetadata)
	return &marked
}
