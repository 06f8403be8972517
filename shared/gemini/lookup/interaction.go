package lookup

import (
	"context"
	"encoding/json"
	"io"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

// An interaction is what the ledger needs of Gemini's answer.
type interaction struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Created string `json:"created"`
	Updated string `json:"updated"`
	Errors  []struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"errors"`
	Webhook struct {
		UserMetadata json.RawMessage `json:"user_metadata"`
	} `json:"webhook_config"`
}

// lookupInteraction looks up one interaction.
func (c *Client) lookupInteraction(ctx context.Context, name operation.Name, path string) Answer {
	var i interaction
	failure := c.get(ctx, name.Resource, path, nil, func(body io.Reader) error {
		if err := api.ReadObject(body, &i); err != nil {
			return err
		}
		return isAbout(name, i.ID)
	})
	if failure != nil {
		return unknown(failure)
	}
	return c.interactionAnswer(name, i)
}

// interactionAnswer returns the answer that an interaction gives.
func (c *Client) interactionAnswer(name operation.Name, i interaction) Answer {
	var result operation.Result
	if len(i.Errors) > 0 {
		result.ErrorCode, result.ErrorMessage = c.errorTexts(i.Errors[0].Code, i.Errors[0].Message)
	}
	var answer Answer
	switch state := interactionState(i.Status); {
	case state.Known():
		if i.Status == incomplete || i.Status == budgetExceeded {
			result.ErrorCode = i.Status // a failure without an error code [M1]
		}
		answer = known(state, instant(i.Updated), result)
	case i.Status == "":
		answer = unknown(c.problem(name.Resource, NoState, "the answer has no status"))
	default:
		answer = unknown(
			c.problem(name.Resource, UnknownState, "status %s is not known", diag.QuoteUpTo(i.Status, maxQuoted)),
		)
	}
	answer.CreateTime = operation.Instant(instant(i.Created))
	answer.CorrelationID = gemini.CorrelationOf(i.Webhook.UserMetadata)
	return answer
}

// The statuses of a failure that has no error code.
const incomplete, budgetExceeded = "incomplete", "budget_exceeded"

// interactionState maps Gemini's states to the ledger's, and any other word to operation.Unknown.
func interactionState(status string) operation.State {
	switch status {
	case "queued":
		return operation.Pending
	case "in_progress":
		return operation.Running
	case "requires_action", "requires_continuation":
		return operation.RequiresAction
	case "completed":
		return operation.Succeeded
	case "failed", incomplete, budgetExceeded:
		return operation.Failed
	case "cancelled":
		return operation.Cancelled
	default:
		return operation.Unknown
	}
}
