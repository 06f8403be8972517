package lookup

import (
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// The reasons for an inconclusive look-up. Logs and metrics count these words. None of them ends an
// operation [R4]: the next look-up may succeed.
const (
	// NotFound: Gemini does not know the name. Not terminal: a live operation was seen to be not
	// found for two days.
	NotFound = "not-found"
	// NoState: Gemini answered without a state, as it does for an error under a 200.
	NoState = "no-state"
	// UnknownState: this revision does not know the state.
	UnknownState = "unknown-state"
	// RateLimited: too many requests; Answer.RetryAfter may say how long to wait.
	RateLimited = "rate-limited"
	// Unavailable: Gemini failed or could not be reached.
	Unavailable = "unavailable"
	// Denied: the API key is not valid, or may not see this operation. Other look-ups will fail in
	// the same way.
	Denied = "denied"
	// Refused: Gemini does not accept the request, for a reason that is none of the others.
	Refused = "refused"
	// Timeout: no answer within the caller's time or the client's.
	Timeout = "timeout"
	// Cancelled: the caller's context was cancelled. It says nothing about Gemini.
	Cancelled = "cancelled"
	// BadAnswer: an answer that is not what the API promises, such as HTML, or one about another
	// operation. Malformed inline results alone do not make a batch a bad answer.
	BadAnswer = "bad-answer"
	// TooLarge: an answer with one value of more than 32 MiB, or a page of too many batches. A batch
	// may have any number of inline results.
	TooLarge = "too-large"
	// Indeterminate: Gemini says that the operation is done, but not how it ended, as it did for
	// live videos.
	Indeterminate = "indeterminate"
	// Unsupported: operations of this collection cannot be looked up. Nothing was sent.
	Unsupported = "unsupported"
	// InvalidName: the name cannot be part of a request. Nothing was sent.
	InvalidName = "invalid-name"
)

// An Answer is the outcome of a look-up. A known answer has State, UpdateTime and Result as Gemini
// gives them. An inconclusive one has Reason and Err, which say why.
type Answer struct {
	// State is a state that the ledger knows, or operation.Unknown.
	State operation.State
	// UpdateTime is the server's time of State, cut to microseconds; zero where the answer has none
	// [M4].
	UpdateTime time.Time
	Result     operation.Result
	// CorrelationID is the submitter's own id, where the answer carries it: in a batch's display
	// name, or in an interaction's user metadata [K6]. An inconclusive answer may have it, too.
	CorrelationID string
	// CreateTime is when Gemini created the operation, cut to microseconds; zero if it does not
	// say.
	CreateTime time.Time
	// Reason is empty for a known state, else one of the reasons above.
	Reason string
	// RetryAfter is how long Gemini asks to wait, at most a day; 0 if it does not ask. Only with a
	// Reason.
	RetryAfter time.Duration
	// Err is nil for a known state, else a *LookupError.
	Err error
}

// Known reports whether the answer states the operation's state. State must not be used otherwise.
func (a Answer) Known() bool { return a.Reason == "" && a.State.Known() }

// Exists reports whether Gemini has the operation, even if its state is not clear.
func (a Answer) Exists() bool {
	return a.Known() || a.Reason == UnknownState || a.Reason == Indeterminate
}

// Unanswered reports whether Gemini could not be reached, or refused to say anything: other look-ups will probably
// fail in the same way.
func (a Answer) Unanswered() bool {
	switch a.Reason {
	case Unavailable, Timeout, RateLimited, Denied, Refused, BadAnswer:
		return true
	default:
		return false
	}
}

// deliveryTime is RFC 3339 with the microseconds that the ledger compares. It always has six
// digits, so that equal times give equal ids.
const deliveryTime = "2006-01-02T15:04:05.000000Z"

// Event returns the answer about name as an event, which is ingested like a delivery [R2]. Its
// delivery id is made of the state and its time alone, so that a second look-up with the same
// outcome is a duplicate. An inconclusive answer gives an event of unknown state: the reducer drops
// it, but it still binds an intent [G6].
func (a Answer) Event(name operation.Name) operation.Event {
	event := operation.Event{
		Name: name, DeliveryID: "reconcile-UNKNOWN", Source: operation.Reconcile, CorrelationID: a.CorrelationID,
	}
	if !a.Known() {
		return event
	}
	event.State, event.UpdateTime, event.Result = a.State, operation.Instant(a.UpdateTime), a.Result
	event.DeliveryID = "reconcile-" + string(a.State)
	if !a.UpdateTime.IsZero() {
		event.DeliveryID += "-" + a.UpdateTime.UTC().Format(deliveryTime)
	}
	return event
}

// known returns an answer with a state.
func known(state operation.State, updated time.Time, result operation.Result) Answer {
	return Answer{State: state, UpdateTime: operation.Instant(updated), Result: result}
}

// unknown returns an inconclusive answer.
func unknown(failure *LookupError) Answer {
	return Answer{Reason: failure.Reason, RetryAfter: failure.RetryAfter, Err: failure}
}
