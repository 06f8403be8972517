package lookup

import (
	"cmp"
	"encoding/json"

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

func (i *interaction) about() string { return i.id }

// Members are what is read of an interaction.
func (i *interaction) Members() api.Members {
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

// answer returns the answer that an interaction gives.
func (i *interaction) answer(c *Client, resource string) Answer {
	var result operation.Result
	if i.failure.There {
		result.ErrorCode, result.ErrorMessage = c.errorTexts(i.failure.Code, i.failure.Message)
	}
	var answer Answer
	switch state, code := gemini.StateOf(i.status); {
	case state.Known():
		result.ErrorCode = cmp.Or(code, result.ErrorCode)
		answer = known(state, gemini.ParseTime(i.updated), result)
	case i.status == "":
		answer = unknown(c.problem(resource, NoState, "the answer has no status"))
	default:
		answer = unknown(
			c.problem(resource, UnknownState, "status %s is not known", diag.QuoteUpTo(i.status, maxQuoted)),
		)
	}
	answer.CreateTime = gemini.ParseTime(i.created)
	answer.CorrelationID = gemini.CorrelationOf(i.metadata)
	return answer
}
