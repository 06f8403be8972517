package register

import (
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

// An Intention is an intent to record or, with Withdraw, to delete.
type Intention struct {
	ledger.Intention
	Withdraw bool
}

// Parse reads a request. It returns a registration or an intention; the other one is nil. The error
// is a *httpfunc.Error with all problems.
func Parse(body []byte, now time.Time) (*ledger.Registration, *Intention, error) {
	if err := fit(body, `a registration is {"name":"batches/abc123",…}, and an intent `+
		`{"intent":true,"correlationId":"nightly-2026-11-21",…}`); err != nil {
		return nil, nil, err
	}
	var request Request
	read := readFields(body, &request)
	if read.unread["intent"] {
		return nil, nil, read.with(nil) // the other checks depend on it
	}
	registration, intention, others := request.check(now)
	if err := read.with(others); err != nil {
		return nil, nil, err
	}
	return registration, intention, nil
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
