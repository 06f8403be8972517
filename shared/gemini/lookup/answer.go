package lookup

import (
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// The reasons why a look-up does not know an operation's state, in words that logs and metrics
// count. None of them ends an operation [R4]: each may be different the next time.
const (
	// NotFound: Gemini does not know the name. Not terminal: a live operation was seen to answer so
	// for two days.
	NotFound = "not-found"
	// NoState: Gemini answered without a state, as it does for an error under a 200.
	NoState = "no-state"
	// UnknownState: a state that this revision has no word for.
	UnknownState = "unknown-state"
	// RateLimited: too many requests; Answer.RetryAfter may say how long to wait.
	RateLimited = "rate-limited"
	// Unavailable: Gemini failed or could not be reached.
	Unavailable = "unavailable"
	// Denied: the API key is not valid, or may not see this operation. Asking for others will end
	// alike.
	Denied = "denied"
	// Refused: Gemini does not accept the request, for a reason that none of the other words says.
	Refused = "refused"
	// Timeout: no answer within the caller's time or the client's.
	Timeout = "timeout"
	// Cancelled: the caller's context was cancelled while asking. It says nothing about Gemini.
	Cancelled = "cancelled"
	// BadAnswer: an answer that is not what the API promises, such as HTML, or one about another
	// operation. A batch whose inline results alone are odd is no bad answer.
	BadAnswer = "bad-answer"
	// TooLarge: an answer larger than Options.MaxAnswer, a page of too many batches, or a batch
	// with one value of more than 32 MiB. A batch with many inline results is not too large.
	TooLarge = "too-large"
	// Indeterminate: Gemini says that the operation is done, and not how it ended. Live videos were
	// seen so.
	Indeterminate = "indeterminate"
	// Unsupported: operations of this collection cannot be looked up. Nothing was sent.
	Unsupported = "unsupported"
	// InvalidName: the name cannot be part of a request. Nothing was sent.
	InvalidName = "invalid-name"
)

// Reasons returns every reason an Answer or a LookupError may have.
func Reasons() []string {
	return []string{
		NotFound, NoState, UnknownState, RateLimited, Unavailable, Denied, Refused, Timeout, Cancelled, BadAnswer, TooLarge,
		Indeterminate, Unsupported, InvalidName,
	}
}

// An Answer is what a look-up learned. Either it is known, and State, UpdateTime and Result say
// what Gemini says; or it is not, and Reason and Err say why not.
type Answer struct {
	// State is a state that the ledger knows, or operation.Unknown.
	State operation.State
	// UpdateTime is the server's time of State, cut to microseconds; zero where the answer has none
	// [M4].
	UpdateTime time.Time
	Result     operation.Result
	// CorrelationID is the submitter's own id, where the answer carries it: in a batch's display
	// name, or in an interaction's user metadata [K6]. Also of an answer that is not known.
	CorrelationID string
	// CreateTime is when Gemini says the operation was made, cut to microseconds; zero where it
	// does not say.
	CreateTime time.Time
	// Reason is empty for a known state, else one of Reasons.
	Reason string
	// RetryAfter is how long Gemini asks to be left alone, at most a day; zero where it does not
	// say. Only with a Reason.
	RetryAfter time.Duration
	// Err is nil for a known state, else a *LookupError.
	Err error
}

// Known reports whether the answer says in which state the operation is. Only then may anything be
// made of State.
func (a Answer) Known() bool { return a.Reason == "" && a.State.Known() }

// Exists reports whether Gemini has the operation, also where it does not say in which state.
func (a Answer) Exists() bool {
	return a.Known() || a.Reason == UnknownState || a.Reason == Indeterminate
}

// deliveryTime is RFC 3339 with the microseconds that the ledger compares, always all six: the same
// time must always make the same id.
const deliveryTime = "2006-01-02T15:04:05.000000Z"

// Event makes an event of a known answer about name, to go through the same door as a delivery
// [R2]. Its delivery id is made of the state and its time alone, so that learning the same thing
// twice is the same delivery. An answer that is not known makes an event of unknown state, which
// the reducer always drops, and which binds an intent all the same [G6].
func (a Answer) Event(name operation.Name) operation.Event {
	if !a.Known() {
		return operation.Event{
			Name: name, DeliveryID: "reconcile-UNKNOWN", Source: operation.Reconcile, CorrelationID: a.CorrelationID,
		}
	}
	id := "reconcile-" + string(a.State)
	if !a.UpdateTime.IsZero() {
		id += "-" + a.UpdateTime.UTC().Format(deliveryTime)
	}
	return operation.Event{
		Name:          name,
		DeliveryID:    id,
		Source:        operation.Reconcile,
		State:         a.State,
		UpdateTime:    operation.Instant(a.UpdateTime),
		Result:        a.Result,
		CorrelationID: a.CorrelationID,
	}
}

// known is the answer for a state that the ledger knows.
func known(state operation.State, updated time.Time, result operation.Result) Answer {
	return Answer{State: state, UpdateTime: operation.Instant(updated), Result: result}
}

// unknown is the answer that says why the state is not known.
func unknown(failure *LookupError) Answer {
	return Answer{Reason: failure.Reason, RetryAfter: failure.RetryAfter, Err: failure}
}
