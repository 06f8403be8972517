package submit

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/genai/interactions/models/interactions"
	"google.golang.org/genai/interactions/models/operations"
	"google.golang.org/genai/interactions/retry"

	"github.com/opledger/opledger/shared/operation"
)

// Interaction submits an interaction with a model or an agent. It is made to run in the background
// and to be stored, without which there is nothing to follow; what else body says holds, with the
// correlation id in its user metadata. It must not be streamed. An interaction cannot be listed:
// until it is registered only its event can show it. Errors: ErrJob, without an intent; otherwise
// as Submit.
func (s *Submitter) Interaction(ctx context.Context, job Job, body operations.CreateInteractionRequestBody) (Submitted, error) {
	if err := errors.Join(checkInteraction(body), s.checkAddress(nil)); err != nil {
		return Submitted{}, err
	}
	return s.Submit(ctx, job, operation.Interactions, func(ctx context.Context, mark Mark) (string, error) {
		// This half of the SDK repeats a request four times unless it is told not to, also one that
		// creates.
		created, err := s.options.Gemini.Interactions.Create(ctx, operations.CreateInteractionRequest{Body: mark.interaction(body)},
			operations.WithRetries(retry.Config{Strategy: "none"}))
		if err != nil {
			return "", err
		}
		if created.Interaction == nil || created.Interaction.ID == nil || *created.Interaction.ID == "" {
			return "", nil
		}
		return string(operation.Interactions) + "/" + *created.Interaction.ID, nil
	})
}

func checkInteraction(body operations.CreateInteractionRequestBody) error {
	streamed := false
	switch {
	case body.CreateModelInteraction != nil:
		streamed = body.CreateModelInteraction.Stream != nil && *body.CreateModelInteraction.Stream
	case body.CreateAgentInteraction != nil:
		streamed = body.CreateAgentInteraction.Stream != nil && *body.CreateAgentInteraction.Stream
	default:
		return fmt.Errorf("%w: an interaction needs a model or an agent", ErrJob)
	}
	if streamed {
		return fmt.Errorf("%w: an interaction that is streamed has no end to wait for; leave stream out", ErrJob)
	}
	return nil
}

// interaction is a copy of body that can be followed.
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
	marked := &interactions.WebhookConfig{}
	if own != nil {
		*marked = *own
	}
	marked.UserMetadata = m.Metadata(marked.UserMetadata)
	return marked
}
