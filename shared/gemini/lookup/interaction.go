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
	id, status, created, updated string
	failure                      api.Failure
	metadata                     json.RawMessage
}

// lookupInteraction looks up one interaction.
func (c *Client) lookupInteraction(ctx context.Context, name operation.Name, path string) Answer {
	var i interaction
	failure := c.get(ctx, name.Resource, path, nil, func(body io.Reader) error {
		if err := api.NewJSON(body).DocumentOf(i.members()); err != nil {
			return err
		}
		return api.CheckAbout(name, i.id)
	})
	if failure != nil {
		return unknown(failure)
	}
	return c.interactionAnswer(name, i)
}

// members are what is read of an interaction.
func (i *interaction) members() api.Members {
	return api.Members{
		"id":      api.Text(&i.id),
		"status":  api.Text(&i.status),
		"created": api.Text(&i.created),
		"updated": api.Text(&i.updated),
		"errors": api.Each(func(s *api.JSON) error {
			if i.failure.There {
				return s.Skip() // the first says what went wrong
			}
			return i.failure.Read(s)
		}),
		"webhook_config": api.Object(api.Members{"user_metadata": api.Raw(&i.metadata)}),
	}
}

// interactionAnswer returns the answer that an interaction gives.
func (c *Client) interactionAnswer(name operation.Name, i interaction) Answer {
	var result operation.Result
	if i.failure.There {
		result.ErrorCode, result.ErrorMessage = c.errorTexts(i.failure.Code, i.failure.Message)
	}
	var answer Answer
	switch state := interactionState(i.status); {
	case state.Known():
		if i.status == incomplete || i.status == budgetExceeded {
			result.ErrorCode = i.status // a failure without an error code [M1]
		}
		answer = known(state, api.ParseTime(i.updated), result)
	case i.status == "":
		answer = unknown(c.problem(name.Resource, NoState, "the answer has no status"))
	default:
		answer = unknown(
			c.problem(name.Resource, UnknownState, "status %s is not known", diag.QuoteUpTo(i.status, maxQuoted)),
		)
	}
	answer.CreateTime = operation.Instant(api.ParseTime(i.created))
	answer.CorrelationID = gemini.CorrelationOf(i.metadata)
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
