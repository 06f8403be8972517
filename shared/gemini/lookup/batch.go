package lookup

import (
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/api"
)

// A batch is what the ledger needs of Gemini's answer.
type batch struct{ api.Batch }

func (b *batch) about() string { return b.Name }

func (b *batch) answer(c *Client, resource string) Answer {
	switch state := b.Known(); {
	case state.Known():
		result := b.Result
		result.ErrorCode, result.ErrorMessage = c.errorTexts(b.Failure.Code, b.Failure.Message)
		return b.describe(known(state, b.Since(), result))
	case b.State == "" || strings.HasSuffix(b.State, "_STATE_UNSPECIFIED"):
		return b.describe(unknown(c.problem(resource, NoState, "the answer has no state%s", b.Failure.Complaint())))
	default:
		return b.describe(
			unknown(c.problem(resource, UnknownState, "state %s is not known", diag.QuoteUpTo(b.State, maxQuoted))))
	}
}

// describe adds to an answer the fields that do not depend on the state.
func (b *batch) describe(answer Answer) Answer {
	answer.CorrelationID = gemini.CorrelationIn(b.DisplayName)
	answer.CreateTime = gemini.ParseTime(b.CreateTime)
	return answer
}
