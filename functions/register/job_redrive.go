package register

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A redriveRequest is the body of POST /jobs/{id}:redrive: who, why, and what is other than in the job.
type redriveRequest struct {
	ledger.Decision
	ID string `json:"id"`
	operation.Submission
	job.Options
	// RetryOn and Outcomes are read last: a long list would take many times its bytes.
	RetryOn  json.RawMessage `json:"retryOn"`
	Outcomes json.RawMessage `json:"outcomes"`
	// Deadline is a text, in place of the options' time.
	Deadline string `json:"deadline"`
}

// A redrive is a redriveRequest that was read.
type redrive struct {
	ledger.Redriving
	id       string // of the new job; empty: the default
	said     operation.Submission
	body     []byte    // which has the options that are other than the job's
	deadline time.Time // that of the job is not taken over
}

// parseRedrive reads the body of POST /jobs/{id}:redrive. problems are those of its address. The error is a
// *httpfunc.Error with all problems.
func (h handler) parseRedrive(
	key operation.Key, body []byte, problems operation.Problems, began time.Time,
) (redrive, error) {
	if !h.ReadsStorage {
		return redrive{}, httpfunc.Errorf(http.StatusNotImplemented,
			"this function has no access to job storage; opledger redrive does it")
	}
	var given redriveRequest
	read := readFields(body, `write {"by":"ann","why":"the quota was raised"}`, &given)
	addUndecided(&problems, given.Decision)
	if given.ID != "" {
		_, err := operation.JobKey(given.ID)
		problems.When(err != nil, "id", "%w", err)
	}
	asked := redrive{
		Redriving: ledger.Redriving{Of: key, Outcomes: job.NotDone(), Decision: given.Decision},
		id:        given.ID, said: given.Submission, body: body,
	}
	var err error
	asked.deadline, err = job.ParseDeadline(began.UTC(), given.Deadline)
	problems.When(err != nil, "deadline", "%w", err)
	const outcomes = `it must be a list of outcomes, such as ["truncated"]`
	problems.When(!readOutcomes(given.RetryOn, &given.Options.RetryOn), "retryOn", outcomes)
	problems.When(!readOutcomes(given.Outcomes, &asked.Outcomes), "outcomes", outcomes)
	return asked, read.with(append(problems, asked.Problems()...))
}

// redriveJob creates a job of the requests of one that has ended, or finds that it is known [J14].
func (h handler) redriveJob(ctx context.Context, w http.ResponseWriter, asked redrive, began time.Time) {
	request := ledger.JobRequest{Key: asked.Of, Submission: asked.said, Redrive: asked.Redriving}
	old, err := h.Ledger.Jobs.Read(ctx, asked.Of)
	if err == nil {
		request, err = h.redriveOf(ctx, old.Job, asked)
	}
	var submitted ledger.JobSubmitted
	if err == nil {
		submitted, err = files.Redrive(ctx, h.Ledger, h.Storage, request)
	}
	if problems := (*job.InputProblems)(nil); errors.As(err, &problems) {
		err = httpfunc.Errorf(http.StatusBadRequest, "the requests are invalid: %v", problems)
	}
	h.answerSubmitted(ctx, w, request, submitted, err, began)
}

// redriveOf returns the new job, with what was given in place of what the old one has.
func (h handler) redriveOf(ctx context.Context, old job.Job, asked redrive) (ledger.JobRequest, error) {
	rec, err := h.Ledger.Operations.Read(ctx, old.Key)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) { // a record expires before its job does
		return ledger.JobRequest{}, err
	}
	request := ledger.JobRequest{Submission: asked.said, Options: old.Options, Redrive: asked.Redriving}
	request.JobKind = cmp.Or(request.JobKind, old.JobKind)
	if len(request.Metadata) == 0 {
		request.Metadata = rec.Metadata
	}
	given := struct {
		*job.Options
		Deadline json.RawMessage `json:"deadline"` // it was read before
	}{Options: &request.Options}
	if err := json.Unmarshal(asked.body, &given); err != nil {
		return ledger.JobRequest{}, err //nolint:wrapcheck // its fields were read before
	}
	request.Options.Deadline = asked.deadline
	request.Key, err = operation.JobKey(cmp.Or(asked.id, old.RedriveID()))
	return request, err //nolint:wrapcheck // it says what is wrong with the id
}
