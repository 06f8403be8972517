package register

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/jsonscan"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Request is the body of a registration or, with Intent, of an intent.
type Request struct {
	operation.Submission
	// Intent: the operation is about to be submitted, and has no name yet [G6].
	Intent bool `json:"intent,omitempty"`
	// Name is the operation's resource name, in any form [K1].
	Name        string    `json:"name"`
	SubmittedAt time.Time `json:"submittedAt,omitzero"`
	// Collection is that of an intent's future operation, such as "batches".
	Collection string `json:"collection,omitempty"`
	// Attempt is the submitter's own id of one run of its program: an intent with the same one is
	// the same request again.
	Attempt string `json:"attempt,omitempty"`
	// Withdraw, of an intent: Gemini refused the submission, and nothing runs.
	Withdraw bool `json:"withdraw,omitempty"`
}

const (
	maxAhead = time.Hour // how far a submitter's clock may be ahead
	// maxUnknown is how many fields that do not exist are named in an answer.
	maxUnknown = 20
)

// An Intention is an intent to record or, with Withdraw, to delete.
type Intention struct {
	ledger.Intention
	Withdraw bool
}

// Parse reads a request. It returns a registration or an intention; the other one is nil. The error
// is a *httpfunc.Error with all problems.
func Parse(body []byte, now time.Time) (*ledger.Registration, *Intention, error) {
	var checked struct{} // nothing is stored
	if err := json.Unmarshal(body, &checked); err != nil {
		return nil, nil, bad(operation.Problems{{Field: "the body", Err: unfit(err)}})
	}
	var request Request
	known := request.fields()
	names := slices.Sorted(maps.Keys(known))
	var problems operation.Problems
	unread := map[string]bool{}
	fields, more := fieldsOf(body, func(field string) bool { return known[field] != nil })
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if into := known[field]; into == nil {
			problems.Add(diag.Quote(field), "there is no such field%s", diag.DidYouMean(field, names))
		} else if err := json.Unmarshal(fields[field], into); err != nil {
			unread[field] = true
			problems.Add(field, "%s", mistyped(into, err))
		}
	}
	if unread["intent"] {
		return nil, nil, bad(problems) // the other checks depend on it
	}
	registration, intention, others := request.check(now)
	problems = append(problems, slices.DeleteFunc(others, func(p operation.FieldError) bool { return unread[p.Field] })...)
	if more > 0 {
		problems.Add(fmt.Sprintf("%d more fields", more), "they do not exist")
	}
	if len(problems) > 0 {
		return nil, nil, bad(problems)
	}
	return registration, intention, nil
}

// fields returns where each field of a request goes, by its name.
func (request *Request) fields() map[string]any {
	into, fields := reflect.ValueOf(request).Elem(), map[string]any{}
	for _, field := range reflect.VisibleFields(into.Type()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); !field.Anonymous {
			fields[name] = into.FieldByIndex(field.Index).Addr().Interface()
		}
	}
	return fields
}

// mistyped returns why a field could not be read.
func mistyped(into any, err error) string {
	switch into.(type) {
	case *bool:
		return "it must be true or false"
	case *string:
		return "it must be a text"
	case *time.Time:
		return "it must be a time such as 2026-01-22T12:00:00Z"
	default:
		return err.Error()
	}
}

// fieldsOf returns the known fields of a body, and at most maxUnknown others; more counts the rest.
func fieldsOf(body []byte, known func(string) bool) (fields map[string]json.RawMessage, more int) {
	fields = map[string]json.RawMessage{}
	unknown, read := 0, jsonscan.New(body)
	read.Object(func(key []byte) {
		field := string(key)
		if !known(field) {
			if unknown++; unknown > maxUnknown {
				more++
				return
			}
		}
		fields[field] = read.Value()
	})
	return fields, more
}

// check returns what the request asks for, or all its problems.
func (request Request) check(now time.Time) (*ledger.Registration, *Intention, operation.Problems) {
	if request.Intent {
		intention, problems := request.intention()
		return nil, &Intention{intention, request.Withdraw}, problems
	}
	registration, problems := request.registration(now)
	return &registration, nil, problems
}

// Registration returns the registration of a request that is not an intent. The error is a
// *httpfunc.Error with all problems.
func (request Request) Registration(now time.Time) (ledger.Registration, error) {
	registration, problems := request.registration(now)
	if len(problems) > 0 {
		return ledger.Registration{}, bad(problems)
	}
	return registration, nil
}

func (request Request) registration(now time.Time) (ledger.Registration, operation.Problems) {
	var problems operation.Problems
	name, err := parseName(request.Name)
	if err != nil {
		problems.Add("name", "%w", err)
	}
	problems = append(problems, request.Validate()...)
	if request.SubmittedAt.After(now.Add(maxAhead)) {
		problems.Add("submittedAt", "%s is in the future", request.SubmittedAt.Format(time.RFC3339))
	}
	if request.Collection != "" {
		problems.Add("collection", "the name says it already; only an intent has it")
	}
	if request.Attempt != "" || request.Withdraw {
		problems.Add("attempt, withdraw", "only an intent has them")
	}
	return ledger.Registration{Name: name, Submission: request.Submission, SubmittedAt: request.SubmittedAt}, problems
}

func (request Request) intention() (ledger.Intention, operation.Problems) {
	collection, ok := operation.ParseCollection(request.Collection)
	if !ok {
		collection = operation.Collection(request.Collection) // which the intention refuses
	}
	intention := ledger.Intention{Submission: request.Submission, Collection: collection, Attempt: request.Attempt}
	problems := intention.Validate()
	if request.Name != "" {
		problems.Add("name",
			"an intent is recorded before there is a name; leave out intent to register the operation")
	}
	if !request.SubmittedAt.IsZero() {
		problems.Add("submittedAt", "an intent is recorded before the operation is submitted")
	}
	if request.Withdraw && request.Attempt == "" {
		problems.Add("attempt", "it is missing; say which one Gemini refused")
	}
	return intention, problems
}

// unfit returns why a body is neither a registration nor an intent, in JSON's words instead of those
// of Go's decoder.
func unfit(err error) error {
	why := "it is no JSON object"
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		why = fmt.Sprintf("it is not JSON (byte %d)", syntax.Offset)
	}
	return errors.New(why + `; a registration is {"name":"batches/abc123",…}, and an intent ` +
		`{"intent":true,"correlationId":"nightly-2026-11-21",…}`)
}

func bad(problems operation.Problems) error {
	texts := make([]string, len(problems))
	for i, problem := range problems {
		texts[i] = problem.Error()
	}
	return &httpfunc.Error{
		Status: http.StatusBadRequest, Message: "the request is invalid: " + strings.Join(texts, "; "), Problems: texts,
	}
}
