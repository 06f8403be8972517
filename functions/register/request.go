package register

import (
	"context"
	"net/http"
	"time"

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

const maxAhead = time.Hour // how far a submitter's clock may be ahead

// parseRequest returns what a Request asks for, to be done. The error is a *httpfunc.Error with all problems.
func (h handler) parseRequest(r *http.Request, body []byte, began time.Time) (todo, error) {
	var request Request
	read := readFields(body, `a registration is {"name":"batches/abc123",…}, and an intent `+
		`{"intent":true,"correlationId":"nightly-2026-11-21",…}`, &request)
	if read.unread["intent"] {
		return nil, read.with(nil) // the other checks depend on it
	}
	traced(&request.Submission, r)
	if !request.Intent {
		registration, problems := request.registration(began)
		return func(ctx context.Context, w http.ResponseWriter) {
			h.register(ctx, w, registration, began)
		}, read.with(problems)
	}
	do := h.intend
	if request.Withdraw {
		do = h.withdraw
	}
	intention, problems := request.intention()
	return func(ctx context.Context, w http.ResponseWriter) { do(ctx, w, intention, began) }, read.with(problems)
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
	problems.When(err != nil, "name", "%w", err)
	problems = append(problems, request.Validate()...)
	problems.When(request.SubmittedAt.After(now.Add(maxAhead)), "submittedAt", "%s is in the future",
		request.SubmittedAt.Format(time.RFC3339))
	problems.When(request.Collection != "", "collection", "the name says it already; only an intent has it")
	problems.When(request.Attempt != "" || request.Withdraw, "attempt, withdraw", "only an intent has them")
	return ledger.Registration{Name: name, Submission: request.Submission, SubmittedAt: request.SubmittedAt}, problems
}

func (request Request) intention() (ledger.Intention, operation.Problems) {
	collection, ok := operation.ParseCollection(request.Collection)
	if !ok {
		collection = operation.Collection(request.Collection) // which the intention refuses
	}
	intention := ledger.Intention{Submission: request.Submission, Collection: collection, Attempt: request.Attempt}
	problems := intention.Validate()
	problems.When(request.Name != "", "name",
		"an intent is recorded before there is a name; leave out intent to register the operation")
	problems.When(!request.SubmittedAt.IsZero(), "submittedAt", "an intent is recorded before the operation is submitted")
	problems.When(request.Withdraw && request.Attempt == "", "attempt", "it is missing; say which one Gemini refused")
	return intention, problems
}
