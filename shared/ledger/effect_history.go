package ledger

import (
	"errors"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// An AttemptOutcome says how an attempt at an effect ended, in words that pages and commands print.
type AttemptOutcome string

// The outcomes of an attempt. An attempt without one is being made, while its effect is CLAIMED
// with its fence; otherwise a version that keeps no history ended it.
const (
	AttemptDone        AttemptOutcome = "done"        // the effect happened
	AttemptFailed      AttemptOutcome = "failed"      // it is retried after a back-off
	AttemptDead        AttemptOutcome = "dead"        // it failed, and the effect was given up
	AttemptInterrupted AttemptOutcome = "interrupted" // its lease ran out: what it did is not known
	AttemptContinued   AttemptOutcome = "continued"   // its worker's time was over; the next claim continues it
)

// An Attempt is one attempt at an effect, in the effect's history. A claim opens it, and the commit
// that ends the claim closes it, so it costs no read and no write. An attempt that a claim
// continues after Continue stays one entry, with the fence of its last claim.
type Attempt struct {
	Fence int64     `json:"fence" firestore:"fence"`
	Began time.Time `json:"began" firestore:"began"`
	// Ended is zero while there is no Outcome. That of an interrupted attempt is the end of its
	// lease.
	Ended   time.Time      `json:"ended,omitzero" firestore:"ended,omitempty"`
	Outcome AttemptOutcome `json:"outcome,omitempty" firestore:"outcome,omitempty"`
	// Status is the HTTP status of the answer that the attempt failed with; 0: there was none.
	Status int `json:"status,omitempty" firestore:"status,omitempty"`
	// Error is why it failed, in at most 200 bytes. It holds no credential, and of a URL neither
	// path nor query.
	Error string `json:"error,omitempty" firestore:"error,omitempty"`
}

// maxHistory is how many attempts an effect remembers: the last.
const maxHistory = 10

// maxHistoryError bounds the error of each of them, in bytes.
const maxHistoryError = 200

// openAttempt opens the history's entry of a claim, or reopens that of the attempt which it continues.
// previousFence is that of the last claim, of which an older revision may have kept no entry.
func (e *Effect) openAttempt(previousFence int64, now time.Time) {
	n := len(e.History)
	if n > 0 && e.History[n-1].Outcome == AttemptContinued && e.History[n-1].Fence == previousFence {
		last := &e.History[n-1]
		*last = Attempt{Fence: e.Fence, Began: last.Began}
		return
	}
	kept := e.History[max(0, n-maxHistory+1):]
	e.History = append(kept[:len(kept):len(kept)], Attempt{Fence: e.Fence, Began: operation.Instant(now)})
}

// closeAttempt closes the entry of the effect's last claim. There is none if a revision that keeps no
// history made the claim. cause is why the attempt failed, or nil.
func (e *Effect) closeAttempt(outcome AttemptOutcome, cause error, at time.Time) {
	n := len(e.History)
	if n == 0 || e.History[n-1].Fence != e.Fence || e.History[n-1].Outcome != "" {
		return
	}
	last := &e.History[n-1]
	last.Ended, last.Outcome = operation.Instant(at), outcome
	if cause != nil {
		last.Status, last.Error = httpStatus(cause), diag.Failure(cause.Error(), maxHistoryError)
	}
}

// Cause returns the error of the last attempt. That of a DEAD effect is the one in its history, in at
// most 200 bytes: LastError may begin with how often and for how long attempts had failed. Where no
// attempt in the history is the one that it died of, it is LastError.
func (e Effect) Cause() string {
	if n := len(e.History); n > 0 && e.State == EffectDead {
		if last := e.History[n-1]; last.Fence == e.Fence && last.Outcome == AttemptDead {
			return last.Error
		}
	}
	return e.LastError
}

// httpStatus returns the HTTP status of the answer that an error is about, or 0. The error, or one
// that it wraps, knows it by a method HTTPStatus.
func httpStatus(err error) int {
	var answered interface{ HTTPStatus() int }
	if errors.As(err, &answered) {
		return answered.HTTPStatus()
	}
	return 0
}

// causeText is the text of a failure as lastError keeps it. A handler may return what a client said,
// with the whole URL, whose path and query often authenticate the sender.
func causeText(cause error) string { return diag.Failure(cause.Error(), maxStoredText) }
