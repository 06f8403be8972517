package job

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/jsonscan"
)

// An Outcome is what became of one request.
type Outcome string

// The outcomes of a request. OutcomeFailed may be tried again, and is unless no attempt is left [J5].
const (
	OutcomeDone      Outcome = "done"      // Gemini answered, and the answer is as it must be
	OutcomeInvalid   Outcome = "invalid"   // the answer is complete, but the Check fails
	OutcomeTruncated Outcome = "truncated" // the answer stops at the output limit
	OutcomeRefused   Outcome = "refused"   // the same request would be refused again
	OutcomeFailed    Outcome = "failed"    // there is no usable answer, and another attempt may bring one
)

// Counts returns the counts of one request with this outcome.
func (o Outcome) Counts() (c Counts) {
	*c.counter(o) = 1
	return c
}

// Of returns how many requests have this outcome.
func (c Counts) Of(o Outcome) int64 { return *c.counter(o) }

// counter is where requests with this outcome are counted.
func (c *Counts) counter(o Outcome) *int64 {
	switch o {
	case OutcomeDone:
		return &c.Done
	case OutcomeInvalid:
		return &c.Invalid
	case OutcomeTruncated:
		return &c.Truncated
	case OutcomeRefused:
		return &c.Refused
	default:
		return &c.Failed
	}
}

// A Judgement is what became of a request, and what it cost.
type Judgement struct {
	Outcome Outcome
	// Why says why it is not done, for people: at most 300 bytes, printable. It is empty where it is done.
	Why string
	// Usage is what Gemini counted, whatever the outcome.
	Usage Usage
}

// A Check says what is wrong with the text of a complete answer; nothing where it is as it must be. A nil
// Check takes any answer.
type Check func(text []byte) (problem string)

// maxWhy bounds Judgement.Why, in bytes.
const maxWhy = 300

// Judge says what became of a request by Gemini's answer to it: a response or a failure, each a valid JSON
// text, empty or null where there is none. A failure decides, where both are there. Of several candidates
// one that is done is enough; else the first decides. The check may be nil.
func Judge(response, failure json.RawMessage, check Check) Judgement {
	a := answer{check: check}
	if present(response) {
		a.read(response)
	}
	outcome, reason := a.outcome()
	if present(failure) {
		outcome, reason = judgeFailure(failure)
	}
	return Judgement{Outcome: outcome, Why: sayWhy(reason), Usage: a.usage}
}

func present(value json.RawMessage) bool {
	value = bytes.TrimSpace(value)
	return len(value) > 0 && string(value) != "null"
}

// sayWhy makes a reason printable and short.
func sayWhy(reason string) string {
	return diag.Cut(diag.Printable(diag.Cut(reason, 2*maxWhy)), maxWhy)
}

// A failure is Gemini's error in place of a response.
type failure struct{ code, status, message string }

// judgeFailure refuses what is wrong with the request itself. The status decides where there is one: 400 is
// also that of FAILED_PRECONDITION, such as a billing account or a region. A bad key is an invalid argument,
// too, but not the request's.
func judgeFailure(text json.RawMessage) (Outcome, string) {
	f := readFailure(text)
	outcome := OutcomeFailed
	invalid := f.status == "INVALID_ARGUMENT" || f.status == "" && (f.code == "3" || f.code == "400")
	if invalid && !bytes.Contains(text, []byte("API_KEY_INVALID")) {
		outcome = OutcomeRefused
	}
	words := strings.Fields(f.code + " " + f.status)
	reason := strings.Join(words, " ")
	switch {
	case f.message == "":
	case reason == "":
		reason = f.message
	default:
		reason += ": " + f.message
	}
	return outcome, cmp.Or(reason, "an error without a code: "+diag.Cut(string(text), maxWhy))
}

func readFailure(text json.RawMessage) (f failure) {
	c := jsonscan.New(text)
	if c.Kind() == '"' {
		return failure{message: string(jsonscan.Text(c.Value()))}
	}
	c.Object(func(key []byte) {
		switch string(key) {
		case "code":
			f.code = scalar(c.Value())
		case "status":
			f.status = scalar(c.Value())
		case "message":
			f.message = string(jsonscan.Text(c.Value()))
		}
	})
	if f.status == "" && strings.Trim(f.code, "0123456789") != "" { // some of Gemini's errors have a word as their code
		f.code, f.status = "", strings.ToUpper(f.code)
	}
	return f
}

// scalar returns the content of a text or a number.
func scalar(value []byte) string {
	switch {
	case len(value) > 0 && value[0] == '"':
		return string(jsonscan.Text(value))
	case len(value) > 0 && (value[0] == '-' || value[0] >= '0' && value[0] <= '9'):
		return string(value)
	default:
		return ""
	}
}
