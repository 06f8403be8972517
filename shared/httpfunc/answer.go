package httpfunc

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An Error is the answer to a failed request: {"error":{"code","message","problems","reason"}}.
type Error struct {
	Status  int    `json:"code"` // of HTTP
	Message string `json:"message"`
	// Problems are all problems of a request that has several.
	Problems []string `json:"problems,omitempty"`
	// Reason is a word for programs, which log-based metrics count, too. Empty: none.
	Reason string `json:"reason,omitempty"`
	// RetryAfter is the Retry-After header of a 503. 0 means 5 s.
	RetryAfter time.Duration `json:"-"`
}

// Errorf returns an error with a status of HTTP and a message.
func Errorf(status int, format string, args ...any) *Error {
	return &Error{Status: status, Message: fmt.Sprintf(format, args...)}
}

// Reasonf is Errorf with a reason.
func Reasonf(status int, reason, format string, args ...any) *Error {
	return &Error{Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string { return e.Message }

const defaultRetryAfter = 5 * time.Second

// WriteJSON answers with v as JSON.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // it fails where the client has disconnected
}

// WriteResult answers with status and v as JSON, or with err where there is one.
func WriteResult(w http.ResponseWriter, status int, v any, err error) {
	if err != nil {
		WriteError(w, err)
		return
	}
	WriteJSON(w, status, v)
}

// WriteError answers with err: as it is where it wraps an *Error, else with the status of statusOf.
// A 503 has a Retry-After.
func WriteError(w http.ResponseWriter, err error) {
	var problem *Error
	if !errors.As(err, &problem) {
		problem = Errorf(statusOf(err), "%v", err)
	}
	if problem.Status == http.StatusServiceUnavailable {
		seconds := math.Ceil(cmp.Or(problem.RetryAfter, defaultRetryAfter).Seconds())
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	WriteJSON(w, problem.Status, map[string]*Error{"error": problem})
}

// statusOf is the only table from errors to statuses. Any other error is 503: it is known to be none of the
// sender's fault, such as ledger.ErrNewer, ledger.ErrUnavailable and the context's, or it may be none. A retry may
// succeed.
func statusOf(err error) int {
	for _, row := range []struct {
		is     error
		status int
	}{
		{operation.ErrName, http.StatusBadRequest},
		{operation.ErrSubmission, http.StatusBadRequest},
		{operation.ErrMetadata, http.StatusBadRequest},
		{ledger.ErrMessage, http.StatusBadRequest},
		{ledger.ErrInvalid, http.StatusBadRequest},
		{ledger.ErrNotFound, http.StatusNotFound},
		{ledger.ErrNoIntent, http.StatusNotFound},
		{ledger.ErrNoJob, http.StatusNotFound},
		{ledger.ErrNoReason, http.StatusBadRequest},
		{ledger.ErrJobDiffers, http.StatusConflict},
		{ledger.ErrSettled, http.StatusConflict},
		{ledger.ErrHeld, http.StatusConflict},
		{ledger.ErrJobPending, http.StatusConflict},
		{ledger.ErrPart, http.StatusConflict},
		{job.ErrNoRedrive, http.StatusConflict},
		{files.ErrInput, http.StatusConflict},
		{files.ErrExpired, http.StatusConflict},
	} {
		if errors.Is(err, row.is) {
			return row.status
		}
	}
	return http.StatusServiceUnavailable
}

// OutcomeOf is the outcome that logs count of a request which failed with err: newer, where a newer
// revision wrote what the request is about [L6]; else error.
func OutcomeOf(err error) string {
	if errors.Is(err, ledger.ErrNewer) {
		return "newer"
	}
	return "error"
}

// OnlyPOST is Only for POST.
func OnlyPOST(next http.Handler) http.Handler { return Only(next, http.MethodPost) }

// Only answers every other method 405, cuts a body off after BodyTime, and bounds the bytes of
// all bodies together [W7]. An answer that is written before its request's body has ended does not
// wait for the rest: the connection is closed.
func Only(next http.Handler, methods ...string) http.Handler {
	bodies := newRoom()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, release := bodies.receive(w, r)
		defer release()
		if !slices.Contains(methods, r.Method) {
			NotAllowed(w, methods...)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// NotAllowed answers 405: only these methods are answered.
func NotAllowed(w http.ResponseWriter, methods ...string) {
	w.Header().Set("Allow", strings.Join(methods, ", "))
	WriteError(w, Errorf(http.StatusMethodNotAllowed, "only %s is answered here", strings.Join(methods, ", ")))
}
