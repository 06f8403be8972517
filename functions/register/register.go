// Package register is the HTTP function, behind IAM, that submitters call with their operations. It
// creates the operation's record, which everything else needs [L2]. A submitter can call it before
// the submission too, to record its intent [G6], and read there what it registered.
package register

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// Options are what the function works with.
type Options struct {
	Ledger *ledger.Ledger
	Now    func() time.Time
	Log    *slog.Logger
	// Storage is job storage; nil: there is none, and jobs are refused.
	Storage storage.Storage
	// ReadsStorage: the function may read it, so that a job is refused whose input is not there. Else its
	// first step finds that out.
	ReadsStorage bool
	// Pause sleeps between two reads of a record that is waited for; nil: in real time.
	Pause func(context.Context, time.Duration) error
}

// New returns the function. It answers a registration with the operation's record: 201 if it is
// new, 200 if it is known. It answers an intent in the same way, with {"intent"} and what the
// submitter may do, GET /operations/{name} with the record, and GET /intents/{id} with the intent.
// A job is submitted by POST /jobs/{id}, read by GET, changed by PATCH, cancelled by POST /jobs/{id}:cancel, as it is
// paused and resumed, and what is not done in it becomes another job by POST /jobs/{id}:redrive.
// An invalid request is 400 with all its problems.
func New(o Options) http.Handler {
	h := handler(o)
	bodies := httpfunc.Only(h, http.MethodPost, http.MethodPatch)
	jobs := h.jobs(bodies)
	operations, intents := onlyGET(reader{h, semaphore.NewWeighted(mostWaits)}.readOperation), onlyGET(h.readIntent)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, readPath):
			operations.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, intentPath):
			intents.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, jobsPath):
			jobs.ServeHTTP(w, r)
		case r.Method != http.MethodPost:
			httpfunc.NotAllowed(w, http.MethodPost)
		default:
			bodies.ServeHTTP(w, r)
		}
	})
}

type handler Options

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := h.Now()
	body, err := httpfunc.ReadBody(w, r)
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	parsed, err := httpfunc.AwaitTurn(r.Context(), body)
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	parse := h.parseRequest
	if strings.HasPrefix(r.URL.Path, jobsPath) {
		parse = h.parseJob
	}
	do, err := parse(r, body, began)
	parsed()
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	do(r.Context(), w)
}

// A todo does and answers what a request asks for.
type todo func(context.Context, http.ResponseWriter)

// traced gives a submission the trace of its request, unless it names one.
func traced(said *operation.Submission, r *http.Request) {
	said.TraceParent = cmp.Or(said.TraceParent, operation.ParseTraceParent(r.Header.Get("Traceparent")))
}

func (h handler) register(ctx context.Context, w http.ResponseWriter, registration ledger.Registration,
	began time.Time) {
	result, err := h.Ledger.Operations.Register(ctx, registration)
	// These fields are enough to repeat a registration from the log after a restore.
	log := h.Log.With("event", "register", "operation", registration.Name.Key, "jobKind", registration.JobKind,
		"correlation", registration.CorrelationID)
	if name := registration.Name.Resource; name != string(registration.Name.Key) {
		log = log.With("name", name)
	}
	if err != nil {
		log.ErrorContext(ctx, "registration not accepted", "outcome", httpfunc.OutcomeOf(err), "error", err)
		httpfunc.WriteError(w, err)
		return
	}
	if result.PublishErr != nil {
		log.WarnContext(ctx, "effects wait for the sweep", "outcome", "unpublished", "error", result.PublishErr)
	}
	if result.Withheld > 0 {
		log.WarnContext(ctx, ledger.WithheldMessage, "outcome", "withheld", "effects", result.Withheld)
	}
	if result.CorrelationErr != nil {
		log.WarnContext(ctx, "registered without its correlation id", "outcome", "unbound", "error", result.CorrelationErr)
	}
	outcome, status := "known", http.StatusOK
	if result.Created {
		outcome, status = "created", http.StatusCreated
	}
	if result.Record.State != operation.Pending || !result.Created { // what is usual is left out: a line is short
		log = log.With("state", result.Record.State)
	}
	if result.Planned > 0 {
		log = log.With("effects", result.Planned)
	}
	log.InfoContext(ctx, "", "outcome", outcome, "duration_ms", h.Now().Sub(began).Milliseconds())
	httpfunc.WriteJSON(w, status, Answer(result))
}

// Registered is the answer to a registration: the record as it is now. For a known operation it
// names the fields that the registration added (added), and those whose other value stays (kept).
type Registered struct {
	operation.Report
	Added []string `json:"added,omitempty"`
	Kept  []string `json:"kept,omitempty"`
}

// Answer returns the answer to a registration.
func Answer(r ledger.Registered) Registered {
	return Registered{Report: r.Record.Report(), Added: r.Added, Kept: r.Kept}
}

// An intentAnswer is the intent as it is now, what its submitter may do, and the fields of a known
// intent that differ from the request (kept). WaitSeconds is WaitUntil for a submitter with another
// clock.
type intentAnswer struct {
	Intent      ledger.Intent        `json:"intent"`
	Verdict     ledger.IntentVerdict `json:"verdict"`
	WaitUntil   time.Time            `json:"waitUntil,omitzero"`
	WaitSeconds int                  `json:"waitSeconds,omitempty"`
	Kept        []string             `json:"kept,omitempty"`
}

func (h handler) intend(ctx context.Context, w http.ResponseWriter, intention ledger.Intention, began time.Time) {
	intent, err := h.Ledger.Intents.Intend(ctx, intention)
	log := h.Log.With("event", "intent", "correlation", intention.CorrelationID, "jobKind", intention.JobKind,
		"collection", intention.Collection)
	if err != nil {
		log.ErrorContext(ctx, "intent not accepted", "outcome", httpfunc.OutcomeOf(err), "error", err)
		httpfunc.WriteError(w, err)
		return
	}
	if intent.Withheld > 0 {
		log.WarnContext(ctx, ledger.WithheldMessage, "outcome", "withheld", "operation", intent.Operation, "effects",
			intent.Withheld)
	}
	outcome, status := "known", http.StatusOK
	if intent.Created {
		outcome, status = "created", http.StatusCreated
	}
	if intent.Operation != "" {
		log = log.With("operation", intent.Operation)
	}
	if !intent.Created { // a new one is open, and its submitter may submit
		log = log.With("state", intent.State, "reason", intent.Verdict)
	}
	log.InfoContext(ctx, "", "outcome", outcome, "duration_ms", h.Now().Sub(began).Milliseconds())
	answer := intentAnswer{Intent: intent, Verdict: intent.Verdict, WaitUntil: intent.WaitUntil,
		WaitSeconds: int(intent.WaitFor.Seconds()), Kept: intent.Kept}
	httpfunc.WriteJSON(w, status, answer)
}

// withdraw takes back an intent whose submission Gemini refused.
func (h handler) withdraw(ctx context.Context, w http.ResponseWriter, i ledger.Intention, began time.Time) {
	withdrawn, err := h.Ledger.Intents.Withdraw(ctx, i.CorrelationID, i.Attempt)
	log := h.Log.With("event", "intent", "correlation", i.CorrelationID)
	if err != nil {
		log.ErrorContext(ctx, "intent not withdrawn", "outcome", httpfunc.OutcomeOf(err), "error", err)
		httpfunc.WriteError(w, err)
		return
	}
	outcome := "kept"
	if withdrawn {
		outcome = "withdrawn"
	}
	log.InfoContext(ctx, "Gemini refused the submission", "outcome", outcome,
		"duration_ms", h.Now().Sub(began).Milliseconds())
	httpfunc.WriteJSON(w, http.StatusOK, map[string]bool{"withdrawn": withdrawn})
}
