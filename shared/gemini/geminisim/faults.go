package geminisim

import (
	"fmt"
	"time"
)

// Faults is the fault plan. Shares are probabilities from 0 to 1, durations are before
// Config.Speed. With the zero value every operation succeeds and no delivery meets a fault.
type Faults struct {
	// Failed, Cancelled and Expired are shares of the operations that end so; the others succeed.
	// An expired batch ends after a normal run time, not after 48 hours. No event reports a
	// cancelled one. A video is neither cancelled nor expires: these two shares are filtered, and
	// end with nothing. An interaction that would expire is incomplete.
	Failed    float64 `json:"failed"`
	Cancelled float64 `json:"cancelled"`
	Expired   float64 `json:"expired"`
	// FailedItems is the share of result lines, within batches that succeed, that carry an error
	// instead of a response.
	FailedItems float64 `json:"failedItems"`
	// Shuffled is the share of downloads of a result file that have its lines in another order: one
	// user saw it. Inline results have another at each read, whatever the plan. Cut is the share
	// that end in the middle of a line as if it was the end, as a connection without a length does.
	Shuffled float64 `json:"shuffled"`
	Cut      float64 `json:"cut"`

	// Lost is the share of completions that are never sent.
	Lost float64 `json:"lost"`
	// Repeated is the share of completions sent again, one to three times, at once or within
	// RepeatedWithin of the first, same webhook-id, fresh timestamp.
	Repeated       float64       `json:"repeated"`
	RepeatedWithin time.Duration `json:"repeatedWithin"`
	// Late is the share of completions held back, by up to LateBy.
	Late   float64       `json:"late"`
	LateBy time.Duration `json:"lateBy"`
	// Reordered is the share of batches whose progress event arrives after their completion, by up
	// to ReorderedBy. The event is `batch.running`, which is none of the seven documented types: it
	// stands for what a later version of the API, or another sender, may send.
	Reordered   float64       `json:"reordered"`
	ReorderedBy time.Duration `json:"reorderedBy"`
	// BareIDs is the share of deliveries whose data.id is the bare id instead of batches/ and the
	// id. Which of them Gemini sends is not documented.
	BareIDs float64 `json:"bareIDs"`

	// WindowEvery and WindowLength give the receiver's deploy windows: one in each WindowEvery, at
	// a random place, WindowLength long. During one, an attempt gets a 503, or no answer, or
	// reaches the receiver and its answer is lost, a third each. Zero: no windows.
	WindowEvery  time.Duration `json:"windowEvery"`
	WindowLength time.Duration `json:"windowLength"`

	// Shares of the API's answers to reading requests (get of any operation, list of batches, file
	// downloads): APIErrors are 500, 503 and 504 as JSON and 502 as HTML; APIRateLimited is 429
	// with Retry-After; APIStale answers the state before the present one; APIHollow is a 200 that
	// says nothing (an `error` body, or no state; measured against SDK v1.77.0: no error and no
	// state).
	APIErrors      float64 `json:"apiErrors"`
	APIRateLimited float64 `json:"apiRateLimited"`
	APIStale       float64 `json:"apiStale"`
	APIHollow      float64 `json:"apiHollow"`
	// StaleRows is the share of batches that every list shows as running once they run, whatever
	// becomes of them. A get tells the truth.
	StaleRows float64 `json:"staleRows"`
	// CreatesLost is the share of creations that are carried out while their answer is a 503: the
	// operation runs and its submitter does not know the name. Creating is not idempotent
	// (documented).
	CreatesLost float64 `json:"createsLost"`
	// Hidden is the share of interactions that cannot be found for a while after their creation was
	// answered, by up to HiddenFor: 404, seen live for two days.
	Hidden    float64       `json:"hidden"`
	HiddenFor time.Duration `json:"hiddenFor"`
}

// None returns a plan without faults.
func None() Faults { return Faults{} }

// Normal returns the plan of a bad week: about a tenth of the completions is lost, and as many each
// are late, repeated and overtaken.
func Normal() Faults {
	return Faults{
		Failed: 0.05, Cancelled: 0.05, Expired: 0.02, FailedItems: 0.05, Shuffled: 0.1, Cut: 0.02,
		Lost:     0.1,
		Repeated: 0.1, RepeatedWithin: 2 * time.Minute,
		Late: 0.1, LateBy: 5 * time.Minute,
		Reordered: 0.1, ReorderedBy: time.Minute,
		BareIDs:     0.3,
		WindowEvery: 10 * time.Minute, WindowLength: 45 * time.Second,
		APIErrors: 0.02, APIRateLimited: 0.02, APIStale: 0.05, APIHollow: 0.01,
		Hidden: 0.02, HiddenFor: time.Hour,
	}
}

// Harsh returns a plan far worse than anything reported of Gemini: most completions meet a fault,
// and many requests to the API fail.
func Harsh() Faults {
	return Faults{
		Failed: 0.1, Cancelled: 0.1, Expired: 0.05, FailedItems: 0.2, Shuffled: 0.5, Cut: 0.1,
		Lost:     0.3,
		Repeated: 0.4, RepeatedWithin: 10 * time.Minute,
		Late: 0.3, LateBy: 20 * time.Minute,
		Reordered: 0.4, ReorderedBy: 5 * time.Minute,
		BareIDs:     0.5,
		WindowEvery: 5 * time.Minute, WindowLength: 90 * time.Second,
		APIErrors: 0.1, APIRateLimited: 0.1, APIStale: 0.15, APIHollow: 0.05, StaleRows: 0.05,
		CreatesLost: 0.05,
		Hidden:      0.2, HiddenFor: 48 * time.Hour,
	}
}

// ParseFaults returns the preset of that name: none, normal or harsh.
func ParseFaults(name string) (Faults, error) {
	switch name {
	case "none":
		return None(), nil
	case "normal":
		return Normal(), nil
	case "harsh":
		return Harsh(), nil
	}
	return Faults{}, fmt.Errorf("geminisim: no fault plan is named %q: use none, normal or harsh", name)
}
