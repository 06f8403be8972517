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
	failure                      reported
	metadata                     json.RawMessage
}

// lookupInteraction looks up one interaction.
func (c *Client) lookupInteraction(ctx context.Context, name operation.Name, path string) Answer {
	var i interaction
	failure := c.get(ctx, name.Resource, path, nil, func(body io.Reader) error {
		s := api.NewJSON(body)
		if err := s.Document(func(key string) error { return i.readMember(s, key) }); err != nil {
			return err
		}
		return isAbout(name, i.id)
	})
	if failure != nil {
		return unknown(failure)
	}
	return c.interactionAnswer(name, i)
}

func (i *interaction) readMember(s *api.JSON, key string) error {
	switch key {
	case "id":
		return s.Text(&i.id)
	case "status":
		return s.Text(&i.status)
	case "created":
		return s.Text(&i.created)
	case "updated":
		return s.Text(&i.updated)
	case "errors":
		return s.Each(func() error {
			if i.failure.there {
				return s.Skip() // the first says what went wrong
			}
			return i.failure.read(s)
		})
	case "webhook_config":
		return s.Object(func(key string) error {
			if key == "user_metadata" {
				return s.Raw(&i.metadata)
			}
			return s.Skip()
		})
	}
	return s.Skip()
}

// interactionAnswer returns the answer that an interaction gives.
func (c *Client) interactionAnswer(name operation.Name, i interaction) Answer {
	var result operation.Result
	if i.failure.there {
		result.ErrorCode, result.ErrorMessage = c.errorTexts(i.failure.code, i.failure.message)
	}
	var answer Answer
	switch state := interactionState(i.status); {
	case state.Known():
		if i.status == incomplete || i.status == budgetExceeded {
			result.ErrorCode = i.status // a failure without an error code [M1]
		}
		answer = known(state, instant(i.updated), result)
	case i.status == "":
		answer = unknown(c.problem(name.Resource, NoState, "the answer has no status"))
	default:
		answer = unknown(
			c.problem(name.Resource, UnknownState, "status %s is not known", diag.QuoteUpTo(i.status, maxQuoted)),
		)
	}
	answer.CreateTime = operation.Instant(instant(i.created))
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
