package httpfunc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An Error is how every function says no: {"error":{"code","message","problems"}}.
type Error struct {
	Status   int      `json:"code"` // of HTTP
	Message  string   `json:"message"`
	Problems []string `json:"problems,omitempty"` // every one, where the request had several
	// Reason is a word for the log to count; empty where there is none. Senders are not told.
	Reason string `json:"-"`
	// RetryAfter is what the sender of a 503 is asked to wait; 0 asks for 5 s.
	RetryAfter time.Duration `json:"-"`
}

func (e *Error) Error() string { return e.Message }

const defaultRetryAfter = 5 * time.Second

// Answer writes v as JSON.
func Answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a sender that has gone cannot be told
}

// Fail answers with err in the form of Error, and with the one status that statusOf has for it. A 503 says when to come
// back.
func Fail(w http.ResponseWriter, err error) {
	var problem *Error
	if !errors.As(err, &problem) {
		problem = &Error{Status: statusOf(err), Message: err.Error()}
	}
	if problem.Status == http.StatusServiceUnavailable {
		seconds := math.Ceil(cmp.Or(problem.RetryAfter, defaultRetryAfter).Seconds())
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	Answer(w, problem.Status, map[string]*Error{"error": problem})
}

// statusOf is the one table from errors to statuses.
func statusOf(err error) int {
	for _, row := range []struct {
		is     error
		status int
	}{
		{operation.ErrName, http.StatusBadRequest},
		{operation.ErrMetadata, http.StatusBadRequest},
		{ledger.ErrMessage, http.StatusBadRequest},
		{ledger.ErrInvalid, http.StatusBadRequest},
		{ledger.ErrNotFound, http.StatusNotFound},
		{ledger.ErrContention, http.StatusServiceUnavailable},
		{ledger.ErrUnavailable, http.StatusServiceUnavailable},
		{context.Canceled, http.StatusServiceUnavailable},
		{context.DeadlineExceeded, http.StatusServiceUnavailable},
	} {
		if errors.Is(err, row.is) {
			return row.status
		}
	}
	return http.StatusServiceUnavailable // not known to be the sender's fault: it may try again
}

// OnlyPOST guards a function: every other method is answered 405, a body that takes longer than BodyTime
// is cut off, and all bodies together have a bound [W7]. An answer that comes before the end of its
// request's body waits for nothing more of it, and closes the connection.
func OnlyPOST(next http.Handler) http.Handler {
	bodies := &room{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, release := bodies.receive(w, r)
		defer release()
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			Fail(w, &Error{Status: http.StatusMethodNotAllowed, Message: "only POST is answered here"})
			return
		}
		next.ServeHTTP(w, r)
	})
}
