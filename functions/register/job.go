package register

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

const (
	// jobsPath is before the id of a job.
	jobsPath = "/jobs/"
	// redriveVerb is behind the id of a job whose requests that are not done are to be another job.
	redriveVerb = "redrive"
	// storageRetry is when a caller may try again where there is no job storage: after a deployment.
	storageRetry = 5 * time.Minute
)

// A verb is what an operator can do to a job: POST /jobs/{id}:{verb} with who, and why.
type verb struct {
	done string // as the log calls it
	do   func(context.Context, ledger.Jobs, operation.Key, ledger.Decision) error
}

// verbs are those that are answered.
var verbs = map[string]verb{
	"cancel": {"cancelled", func(ctx context.Context, l ledger.Jobs, key operation.Key, d ledger.Decision) error {
		_, err := l.Cancel(ctx, key, d)
		return err
	}},
	"pause": {"paused", func(ctx context.Context, l ledger.Jobs, key operation.Key, d ledger.Decision) error {
		_, err := l.Pause(ctx, key, d)
		return err
	}},
	"resume": {"resumed", func(ctx context.Context, l ledger.Jobs, key operation.Key, d ledger.Decision) error {
		return l.Resume(ctx, key, d)
	}},
}

// jobs answers GET /jobs/{id} with how far the job is, and leaves POST and PATCH to posts.
func (h handler) jobs(posts http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			h.readJob(w, r)
		case http.MethodPost, http.MethodPatch:
			posts.ServeHTTP(w, r)
		default:
			httpfunc.NotAllowed(w, http.MethodGet, http.MethodPost, http.MethodPatch)
		}
	})
}

// readJob answers with a job's progress: three reads, and no write.
func (h handler) readJob(w http.ResponseWriter, r *http.Request) {
	key, problems := jobOf(r, strings.TrimPrefix(r.URL.Path, jobsPath))
	if len(problems) > 0 {
		httpfunc.WriteError(w, bad(problems))
		return
	}
	h.answerJob(r.Context(), w, key)
}

func (h handler) answerJob(ctx context.Context, w http.ResponseWriter, key operation.Key) {
	answer, err := progress.Read(ctx, h.Ledger.Reading(), key)
	httpfunc.WriteResult(w, http.StatusOK, answer, err)
}

// jobOf returns the key of the job with an id, and all that is wrong with the request's address.
func jobOf(r *http.Request, id string) (operation.Key, operation.Problems) {
	key, err := operation.JobKey(id)
	var problems operation.Problems
	problems.When(err != nil, "id", "%w", err)
	return key, append(problems, unknownParameters(r)...)
}

// parseJob returns what a POST or a PATCH to a job asks for, to be done. The error is a *httpfunc.Error.
func (h handler) parseJob(r *http.Request, body []byte, began time.Time) (todo, error) {
	path := strings.TrimPrefix(r.URL.Path, jobsPath)
	id, asked, _ := strings.Cut(path, ":")
	if v, is := verbs[asked]; is && r.Method == http.MethodPost {
		key, problems := jobOf(r, id)
		decision, err := parseDecision(body, problems)
		return h.decideJob(key, decision, v.done, began, func(ctx context.Context) error {
			return v.do(ctx, h.Ledger.Jobs, key, decision)
		}), err
	}
	redrives := asked == redriveVerb && r.Method == http.MethodPost
	if !redrives {
		id = path
	}
	key, problems := jobOf(r, id)
	if r.Method == http.MethodPatch {
		limits, decision, err := parseChange(body, began, problems)
		return h.decideJob(key, decision, "changed", began, func(ctx context.Context) error {
			_, err := h.Ledger.Jobs.Change(ctx, key, limits, decision)
			return err
		}), err
	}
	if h.Storage == nil {
		return nil, &httpfunc.Error{
			Status: http.StatusServiceUnavailable, RetryAfter: storageRetry,
			Message: "there is no job storage here: set OPLEDGER_JOB_STORAGE, such as gs://BUCKET/PREFIX",
		}
	}
	if redrives {
		asked, err := h.parseRedrive(key, body, problems, began)
		traced(&asked.said, r)
		return func(ctx context.Context, w http.ResponseWriter) { h.redriveJob(ctx, w, asked, began) }, err
	}
	request, err := parseJobRequest(key, body, h.Storage.String(), began, problems)
	traced(&request.Submission, r)
	return func(ctx context.Context, w http.ResponseWriter) { h.submitJob(ctx, w, request, began) }, err
}

// A jobAnswer is how far a job is, with its record: its metadata, and what runs once it has ended.
type jobAnswer struct {
	progress.Progress
	Record operation.Report `json:"record,omitzero"`
}

// submitJob creates a job, or finds that it is known [J1].
func (h handler) submitJob(ctx context.Context, w http.ResponseWriter, request ledger.JobRequest, began time.Time) {
	submit := h.Ledger.Jobs.Submit
	if h.ReadsStorage {
		submit = func(ctx context.Context, request ledger.JobRequest) (ledger.JobSubmitted, error) {
			return files.Accept(ctx, h.Ledger, h.Storage, request)
		}
	}
	submitted, err := submit(ctx, request)
	h.answerSubmitted(ctx, w, request, submitted, err, began)
}

// answerSubmitted answers what became of a job that was submitted, or redrives another one.
func (h handler) answerSubmitted(
	ctx context.Context, w http.ResponseWriter, request ledger.JobRequest, submitted ledger.JobSubmitted, err error,
	began time.Time,
) {
	input := cmp.Or(submitted.Job.Input, request.Input)
	log := h.Log.With("event", "job", "operation", request.Key, "jobKind", request.JobKind, "requests", input.Requests,
		"bytes", input.Bytes, "sha256", input.SHA256)
	if of := request.Redrive.Of; of != "" {
		log = log.With("redrives", of, "by", request.Redrive.By)
	}
	if err != nil {
		log.WarnContext(ctx, "job not accepted", "outcome", outcomeOfJob(err), "error", err)
		httpfunc.WriteError(w, err)
		return
	}
	if submitted.PublishErr != nil {
		log.WarnContext(ctx, "effects wait for the sweep", "outcome", "unpublished", "error", submitted.PublishErr)
	}
	outcome, status := "known", http.StatusOK
	if submitted.Created {
		outcome, status = "submitted", http.StatusCreated
	}
	log.InfoContext(ctx, "job accepted", "outcome", outcome, "duration_ms", h.Now().Sub(began).Milliseconds())
	answer, err := h.readAnswer(ctx, request.Key)
	httpfunc.WriteResult(w, status, answer, err)
}

func (h handler) readAnswer(ctx context.Context, key operation.Key) (jobAnswer, error) {
	read, err := progress.Read(ctx, h.Ledger.Reading(), key)
	if err != nil {
		return jobAnswer{}, fmt.Errorf("the job is accepted; reading it: %w", err)
	}
	rec, err := h.Ledger.Operations.Read(ctx, key)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) { // a record expires before its job does
		return jobAnswer{}, fmt.Errorf("the job is accepted; reading its record: %w", err)
	}
	return jobAnswer{Progress: read, Record: rec.Report()}, nil
}

// decideJob records what was decided about a job. Its answer is the job's progress, with the decision that stands.
func (h handler) decideJob(
	key operation.Key, d ledger.Decision, done string, began time.Time, record func(context.Context) error,
) todo {
	return func(ctx context.Context, w http.ResponseWriter) {
		log := h.Log.With("event", "job", "operation", key, "by", d.By)
		if err := record(ctx); err != nil {
			log.WarnContext(ctx, "job not "+done, "outcome", outcomeOfJob(err), "error", err)
			httpfunc.WriteError(w, err)
			return
		}
		log.InfoContext(ctx, "job "+done, "outcome", done, "duration_ms", h.Now().Sub(began).Milliseconds())
		h.answerJob(ctx, w, key)
	}
}

// outcomeOfJob is what the log counts of a request about a job that failed: refused, where the request or the
// job is the reason.
func outcomeOfJob(err error) string {
	for _, refusal := range []error{
		ledger.ErrJobDiffers, ledger.ErrNoJob, ledger.ErrSettled, files.ErrInput, files.ErrExpired, operation.ErrSubmission,
		job.ErrNoRedrive,
	} {
		if errors.Is(err, refusal) {
			return "refused"
		}
	}
	if answer, ok := errors.AsType[*httpfunc.Error](err); ok && answer.Status < http.StatusInternalServerError {
		return "refused"
	}
	return httpfunc.OutcomeOf(err)
}
