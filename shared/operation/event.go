package operation

import (
	"cmp"
	"time"
)

// A Source is the path by which a report arrived.
type Source string

// The sources.
const (
	Webhook   Source = "webhook"   // the fast path: Gemini delivered it
	Reconcile Source = "reconcile" // the slow path: a look-up found it
)

// An Event is one report about one operation. Deliveries and look-ups make the same events, and the
// reducer decides about both alike [M7].
type Event struct {
	Name
	// DeliveryID names the delivery of the report. A repeated delivery is recognised by it [W4].
	DeliveryID string
	Source     Source
	// Type is the sender's word for the event ("batch.succeeded"); empty for a look-up.
	Type  string
	State State
	// UpdateTime is when the operation came into this state, by the server's clock: never a time of
	// receipt and never a local clock [M4]. Zero: the report has none, which loses every tie.
	UpdateTime time.Time
	Result     Result
	// CorrelationID is the submitter's own id for the operation, from the event's user metadata [K6];
	// often empty.
	CorrelationID string
}

// A Result is what a report has beside the state. The output itself is never part of it: a document
// can hold 1 MiB, and a batch's output is far larger.
type Result struct {
	// OutputFile is where Gemini wrote the output: a file's name or a URL.
	OutputFile string `json:"outputFile,omitempty" firestore:"outputFile,omitempty"`
	// Inline says that the output is in the operation itself and must be fetched from there.
	Inline       bool    `json:"inline,omitempty" firestore:"inline,omitempty"`
	ErrorCode    string  `json:"errorCode,omitempty" firestore:"errorCode,omitempty"`
	ErrorMessage string  `json:"errorMessage,omitempty" firestore:"errorMessage,omitempty"`
	Counts       *Counts `json:"counts,omitempty" firestore:"counts,omitempty"`
}

// Counts are the numbers of a batch's requests by their outcome.
type Counts struct {
	Total     int64 `json:"total" firestore:"total"`
	Succeeded int64 `json:"succeeded" firestore:"succeeded"`
	Failed    int64 `json:"failed" firestore:"failed"`
	Pending   int64 `json:"pending" firestore:"pending"`
}

// fill returns r with its empty fields set from other.
func (r Result) fill(other Result) Result {
	r.OutputFile, r.Inline = cmp.Or(r.OutputFile, other.OutputFile), r.Inline || other.Inline
	r.ErrorCode = cmp.Or(r.ErrorCode, other.ErrorCode)
	r.ErrorMessage = cmp.Or(r.ErrorMessage, other.ErrorMessage)
	r.Counts = cmp.Or(r.Counts, other.Counts)
	return r
}

// Instant returns t in UTC, cut to microseconds. Times are compared and stored only in this form:
// Gemini sends nanoseconds, stores keep microseconds, and a stored time must equal itself [M4].
// Zero stays zero.
func Instant(t time.Time) time.Time {
	return t.UTC().Truncate(time.Microsecond)
}

// Later returns the later one of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Earlier returns the earlier one of two times.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Missing reports whether a time was not given. A missing time may also arrive as 1970 [M4].
func Missing(t time.Time) bool { return t.Unix() <= 0 }

// serverTime is Instant with a missing time at the epoch, where it loses every tie [M4].
func serverTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return Instant(t)
}

// Announced reports whether Gemini calls the webhook for the operation's terminal state. It does not for a
// cancellation, a video that failed, and an interaction that is incomplete or over budget [R4]. It has no jobs.
func Announced(key Key, end State, result Result) bool {
	switch end {
	case Succeeded, Expired:
		return key.Collection() != Jobs
	case Failed:
		unfinished := result.ErrorCode == "incomplete" || result.ErrorCode == "budget_exceeded"
		return key.Collection() != Operations && key.Collection() != Jobs && !unfinished
	default:
		return false
	}
}
