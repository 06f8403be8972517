package operation

import "time"

// A Source is the path that a report took.
type Source string

// The sources.
const (
	Webhook   Source = "webhook"   // the fast path: Gemini told us
	Reconcile Source = "reconcile" // the slow path: we asked Gemini
)

// An Event is one report about one operation, from whichever path. It is what the reducer sees; both paths make the same
// thing of what they learned [M7].
type Event struct {
	Name
	// DeliveryID names the delivery that brought the report; the same delivery twice is recognised by it [W4].
	DeliveryID string
	Source     Source
	// Type is the sender's word for the event ("batch.succeeded"); empty for a look-up.
	Type  string
	State State
	// UpdateTime is when the server says the operation came into this state; never a time of receipt and never a local
	// clock [M4]. Zero: the report does not say, which loses every tie.
	UpdateTime time.Time
	Result     Result
	// CorrelationID is the submitter's own id for the operation, found in the event's user metadata [K6]; often empty.
	CorrelationID string
}

// A Result is what a report says beside the state. The results themselves are never part of it: a document has room for
// 1 MiB, a batch's output for far more.
type Result struct {
	// OutputFile is where Gemini put the output: a file's name or a URL.
	OutputFile string `json:"outputFile,omitempty" firestore:"outputFile,omitempty"`
	// Inline says that the output is in the operation itself and must be fetched from there.
	Inline       bool    `json:"inline,omitempty" firestore:"inline,omitempty"`
	ErrorCode    string  `json:"errorCode,omitempty" firestore:"errorCode,omitempty"`
	ErrorMessage string  `json:"errorMessage,omitempty" firestore:"errorMessage,omitempty"`
	Counts       *Counts `json:"counts,omitempty" firestore:"counts,omitempty"`
}

// Counts says how many of a batch's requests came to which end.
type Counts struct {
	Total     int64 `json:"total" firestore:"total"`
	Succeeded int64 `json:"succeeded" firestore:"succeeded"`
	Failed    int64 `json:"failed" firestore:"failed"`
	Pending   int64 `json:"pending" firestore:"pending"`
}

// fill returns r with every empty field taken from other.
func (r Result) fill(other Result) Result {
	if r.OutputFile == "" {
		r.OutputFile = other.OutputFile
	}
	r.Inline = r.Inline || other.Inline
	if r.ErrorCode == "" {
		r.ErrorCode = other.ErrorCode
	}
	if r.ErrorMessage == "" {
		r.ErrorMessage = other.ErrorMessage
	}
	if r.Counts == nil {
		r.Counts = other.Counts
	}
	return r
}

// Instant cuts t to microseconds in UTC, the only form in which times are compared and stored: Gemini sends nanoseconds,
// stores keep microseconds, and a time that was stored must still equal itself [M4]. Zero stays zero.
func Instant(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// serverTime is Instant with a missing time at the epoch, where it loses every tie [M4].
func serverTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return Instant(t)
}
