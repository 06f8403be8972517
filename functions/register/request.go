package register

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
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
	// Intent: the operation is about to be submitted, and has no name yet [G6].
	Intent bool `json:"intent,omitempty"`
	// Name is the operation's resource name, in any form [K1].
	Name          string          `json:"name"`
	JobKind       string          `json:"jobKind,omitempty"`
	Metadata      json.RawMessage `json:"metadata,omitempty"`
	SubmittedAt   *time.Time      `json:"submittedAt,omitempty"`
	CorrelationID string          `json:"correlationId,omitempty"`
	// Collection is that of an intent's future operation, such as "batches".
	Collection string `json:"collection,omitempty"`
	// Attempt is the submitter's own id of one run of its program: an intent with the same one is
	// the same request again.
	Attempt string `json:"attempt,omitempty"`
	// Withdraw, of an intent: Gemini refused the submission, and nothing runs.
	Withdraw bool `json:"withdraw,omitempty"`
}

const (
	maxLabel = ledger.MaxCorrelationBytes // bytes of a job kind or correlation id
	maxAhead = time.Hour                  // how far a submitter's clock may be ahead
	// maxUnknown is how many fields that do not exist are named in an answer.
	maxUnknown = 20
)

// An Intention is one to record, or with Withdraw to take back.
type Intention struct {
	ledger.Intention
	Withdraw bool
}

// Parse reads a request. It returns a registration or an intention; the other one is nil. The error
// is a *httpfunc.Error with all problems.
func Parse(body []byte, now time.Time) (*ledger.Registration, *Intention, error) {
	var checked struct{} // nothing is stored
	if err := json.Unmarshal(body, &checked); err != nil {
		return nil, nil, bad("the body is not a registration, which is " +
			`{"name","jobKind","metadata","submittedAt","correlationId"}, nor an intent, which is ` +
			`{"intent":true,"correlationId","attempt","jobKind","metadata","collection"}: ` + unfit(err))
	}
	var request Request
	known := map[string]struct {
		into any
		kind string
	}{
		"intent":        {&request.Intent, "true or false"},
		"name":          {&request.Name, "a text"},
		"jobKind":       {&request.JobKind, "a text"},
		"metadata":      {&request.Metadata, "an object"},
		"submittedAt":   {&request.SubmittedAt, "a time such as 2026-01-22T12:00:00Z"},
		"correlationId": {&request.CorrelationID, "a text"},
		"collection":    {&request.Collection, "a text"},
		"attempt":       {&request.Attempt, "a text"},
		"withdraw":      {&request.Withdraw, "true or false"},
	}
	var problems []string
	unread := map[string]bool{}
	fields, more := fieldsOf(body, func(field string) bool { _, ok := known[field]; return ok })
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		f, ok := known[field]
		if !ok {
			problems = append(problems, fmt.Sprintf("%s: there is no such field%s", diag.Quote(field),
				diag.DidYouMean(field, slices.Sorted(maps.Keys(known)))))
		} else if err := json.Unmarshal(fields[field], f.into); err != nil {
			unread[field] = true
			problems = append(problems, fmt.Sprintf("%s: it must be %s", field, f.kind))
		}
	}
	if unread["intent"] {
		return nil, nil, bad(problems...) // the other checks depend on it
	}
	registration, intention, others := request.check(now)
	for _, problem := range others {
		if field, _, _ := strings.Cut(problem, ":"); !unread[field] {
			problems = append(problems, problem)
		}
	}
	if more > 0 {
		problems = append(problems, fmt.Sprintf("%d more fields do not exist", more))
	}
	if len(problems) > 0 {
		return nil, nil, bad(problems...)
	}
	return registration, intention, nil
}

// fieldsOf returns the fields of a body that are known, and maxUnknown of the others; more is how many
// there are beside.
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
func (request Request) check(now time.Time) (*ledger.Registration, *Intention, []string) {
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
		return ledger.Registration{}, bad(problems...)
	}
	return registration, nil
}

func (request Request) registration(now time.Time) (ledger.Registration, []string) {
	var problems []string
	name, err := parseName(request.Name)
	if err != nil {
		problems = append(problems, "name: "+err.Error())
	}
	metadata, more := request.job()
	problems = append(problems, more...)
	registration := ledger.Registration{
		Name: name, JobKind: request.JobKind, Metadata: metadata, CorrelationID: request.CorrelationID,
	}
	if request.SubmittedAt != nil {
		registration.SubmittedAt = *request.SubmittedAt
		if registration.SubmittedAt.After(now.Add(maxAhead)) {
			problems = append(problems, fmt.Sprintf("submittedAt: %s is in the future",
				registration.SubmittedAt.Format(time.RFC3339)))
		}
	}
	if request.Collection != "" {
		problems = append(problems, "collection: the name says it already; only an intent has it")
	}
	if request.Attempt != "" || request.Withdraw {
		problems = append(problems, "attempt, withdraw: only an intent has them")
	}
	return registration, problems
}

func (request Request) intention() (ledger.Intention, []string) {
	var problems []string
	if request.Name != "" {
		problems = append(problems,
			"name: an intent is recorded before there is a name; leave out intent to register the operation")
	}
	metadata, more := request.job()
	problems = append(problems, more...)
	if request.CorrelationID == "" {
		problems = append(problems, "correlationId: it is missing; an intent needs one that no other job has")
	}
	if request.SubmittedAt != nil {
		problems = append(problems, "submittedAt: an intent is recorded before the operation is submitted")
	}
	collection, ok := operation.ParseCollection(request.Collection)
	if !ok && request.Collection != "" {
		known := operation.Collections()
		problems = append(problems, fmt.Sprintf("collection: it must be %s, not %s%s",
			diag.OneOf(known), diag.Quote(request.Collection), diag.DidYouMean(request.Collection, known)))
	}
	if request.Withdraw && request.Attempt == "" {
		problems = append(problems, "attempt: it is missing; say which one Gemini refused")
	}
	return ledger.Intention{
		CorrelationID: request.CorrelationID, JobKind: request.JobKind, Metadata: metadata, Collection: collection,
		Attempt: request.Attempt,
	}, problems
}

// job checks the fields that registrations and intents have in common.
func (request Request) job() (operation.Metadata, []string) {
	var problems []string
	metadata, err := operation.ParseMetadata(request.Metadata)
	if err != nil {
		problems = append(problems, "metadata: "+err.Error())
	} else if len(metadata) > ledger.MaxMetadataBytes {
		problems = append(problems, fmt.Sprintf("metadata: %d bytes are more than %d", len(metadata),
			ledger.MaxMetadataBytes))
	}
	for _, label := range []struct{ field, value string }{{"jobKind", request.JobKind},
		{"correlationId", request.CorrelationID}, {"attempt", request.Attempt}} {
		if label.field != "jobKind" && operation.Garbled(label.value) {
			problems = append(problems, label.field+": it has U+FFFD in place of what could not be decoded; "+
				"send UTF-8, without half a surrogate pair")
		}
		if len(label.value) > maxLabel {
			problems = append(problems, fmt.Sprintf("%s: %d bytes are more than %d", label.field, len(label.value), maxLabel))
		}
	}
	return metadata, problems
}

// unfit returns why a body is no JSON object, in JSON's words instead of those of Go's decoder.
func unfit(err error) string {
	if syntax := new(json.SyntaxError); errors.As(err, &syntax) {
		return fmt.Sprintf("it is not JSON (byte %d)", syntax.Offset)
	}
	return "it is no JSON object"
}

func bad(problems ...string) error {
	return &httpfunc.Error{
		Status: http.StatusBadRequest, Message: "the request is invalid: " + strings.Join(problems, "; "),
		Problems: problems,
	}
}
