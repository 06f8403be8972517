package lookup

import (
	"context"
	"encoding/json"
	"errors"

	"google.golang.org/genai/interactions/models/interactions"
	"google.golang.org/genai/interactions/models/operations"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/genaisdk"
	"github.com/opledger/opledger/shared/operation"
)

// lookupInteraction looks up one interaction, by its id alone: the SDK would escape a slash in a
// name.
func (c *Client) lookupInteraction(ctx context.Context, name operation.Name, id string) (answer Answer) {
	defer c.survive(name, &answer)
	ctx, x := c.api.Watch(ctx)
	response, err := c.sdk.Interactions.Get(ctx, operations.GetInteractionByIDRequest{ID: id},
		genaisdk.Once())
	if err == nil {
		if response.InteractionSSEStreamEvent != nil {
			_ = response.InteractionSSEStreamEvent.Close()
		}
		err = errors.New("the answer is a stream")
		if response.Interaction != nil {
			err = isAbout(name, text(response.Interaction.ID))
		}
	}
	if err := x.Err(err); err != nil {
		return unknown(c.failure(name.Resource, err))
	}
	return c.interactionAnswer(name, response.Interaction)
}

// interactionAnswer returns the answer that an interaction gives.
func (c *Client) interactionAnswer(name operation.Name, interaction *interactions.Interaction) Answer {
	var result operation.Result
	if len(interaction.Errors) > 0 {
		result.ErrorCode, result.ErrorMessage = c.errorTexts(
			text(interaction.Errors[0].Code), text(interaction.Errors[0].Message),
		)
	}
	var answer Answer
	switch state := interactionState(interaction.Status); {
	case state.Known():
		if interaction.Status == interactions.InteractionStatusIncomplete ||
			interaction.Status == interactions.InteractionStatusBudgetExceeded {
			result.ErrorCode = string(interaction.Status) // a failure without an error code [M1]
		}
		answer = known(state, instant(text(interaction.Updated)), result)
	case interaction.Status == "":
		answer = unknown(c.problem(name.Resource, NoState, "the answer has no status"))
	default:
		answer = unknown(
			c.problem(
				name.Resource, UnknownState, "status %s is not known", diag.QuoteUpTo(string(interaction.Status), maxQuoted),
			),
		)
	}
	answer.CreateTime = operation.Instant(instant(text(interaction.Created)))
	if metadata, err := json.Marshal(interaction.WebhookConfig.GetUserMetadata()); err == nil {
		answer.CorrelationID = gemini.CorrelationOf(metadata)
	}
	return answer
}

// interactionState maps Gemini's states to the ledger's, and any other word to operation.Unknown.
func interactionState(status interactions.InteractionStatus) operation.State {
	switch status {
	case interactions.InteractionStatusQueued:
		return operation.Pending
	case interactions.InteractionStatusInProgress:
		return operation.Running
	case interactions.InteractionStatusRequiresAction, interactions.InteractionStatusRequiresContinuation:
		return operation.RequiresAction
	case interactions.InteractionStatusCompleted:
		return operation.Succeeded
	case interactions.InteractionStatusFailed,
		interactions.InteractionStatusIncomplete,
		interactions.InteractionStatusBudgetExceeded:
		return operation.Failed
	case interactions.InteractionStatusCancelled:
		return operation.Cancelled
	default:
		return operation.Unknown
	}
}

// text returns "" for nil.
func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
