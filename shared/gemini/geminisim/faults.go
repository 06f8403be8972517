package geminisim

import "time"

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
	// FailedItems is the share of result lines, within batches that succeed, that carry an error of
	// code 13 instead of a response.
	FailedItems float64 `json:"failedItems"`
	// NoMetadata is the share of inline results without the metadata of their request (seen live).
	NoMetadata float64 `json:"noMetadata"`
	// Shuffled is the share of downloads of a result file that have its lines in another order: one
	// user saw it. Inline results have another at each read, whatever the plan. Cut is the share
	// that end in the middle of a line as if it was the end, as a connection without a length does.
	Shuffled float64 `json:"shuffled"`
	Cut      float64 `json:"cut"`

	// The shares of lines are about batches of uploaded files alone. They are drawn from the batch and
	// the key, so that another batch of the same request draws again. A line has one of these at most,
	// or FailedItems.
	//
	// ItemErrors are errors with one of the codes 429, 499, 500, 503, 13 and 14, and RefusedItems with
	// 400 or 3. Blocked prompts have a block reason instead of candidates. Safety stands for SAFETY,
	// RECITATION and PROHIBITED_CONTENT. Truncated ends with MAX_TOKENS. BadJSON is a text that is no
	// JSON, also where the request asks for it.
	ItemErrors   float64 `json:"itemErrors"`
	RefusedItems float64 `json:"refusedItems"`
	Blocked      float64 `json:"blocked"`
	Safety       float64 `json:"safety"`
	Truncated    float64 `json:"truncated"`
	BadJSON      float64 `json:"badJSON"`
	// MissingLines are requests without a line. NullLines are null, or have a null response.
	// UnreadableLines are no JSON.
	MissingLines    float64 `json:"missingLines"`
	NullLines       float64 `json:"nullLines"`
	UnreadableLines float64 `json:"unreadableLines"`
	// DoubledLines are lines whose key comes twice, the second time with another text; ForeignLines are
	// followed by a line whose key is of no request. A line may have both.
	DoubledLines float64 `json:"doubledLines"`
	ForeignLines float64 `json:"foreignLines"`

	// RefusedCreate is the share of creations that are answered 400, and RefusedBatch the share of
	// batches that are created and then FAILED with code 3. Both are about uploaded files alone.
	RefusedCreate float64 `json:"refusedCreate"`
	RefusedBatch  float64 `json:"refusedBatch"`
	// PartialCancelled is the share of batches of uploaded files that have a result file with a part of
	// the lines where they are cancelled. It is not documented whether Gemini makes one.
	PartialCancelled float64 `json:"partialCancelled"`
	// CancelsIgnored is the share of batches that go on as planned after a cancellation was answered,
	// because it is best effort.
	CancelsIgnored float64 `json:"cancelsIgnored"`
	// CancelledStillCount is the share of cancelled batches that count towards Config.Quotas for 48
	// hours more (seen live).
	CancelledStillCount float64 `json:"cancelledStillCount"`
	// ForeignInput is the share of batches whose get shows the input file of another batch.
	ForeignInput float64 `json:"foreignInput"`

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
	// CreatesLimited is the share of creations of batches from uploaded files that are answered 429,
	// below every quota (seen live).
	CreatesLimited float64 `json:"createsLimited"`
	// CreatesDenied is the share of creations of batches from uploaded files that are answered as with a key that is
	// not valid: 400 with the reason API_KEY_INVALID.
	CreatesDenied float64 `json:"createsDenied"`
	// CreatesTwice is the share of creations of batches that are carried out twice, as where a proxy
	// repeats the request: the answer names one of the two.
	CreatesTwice float64 `json:"createsTwice"`
	// CreatesSlow is the share of creations of batches that take up to CreatesSlowBy, half of them
	// before the batch is there. A caller that leaves does not stop them.
	CreatesSlow   float64       `json:"createsSlow"`
	CreatesSlowBy time.Duration `json:"createsSlowBy"`
	// UploadsLost is the share of requests to the session of an upload that are carried out while their
	// answer is a 503.
	UploadsLost float64 `json:"uploadsLost"`
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
		ItemErrors: 0.01, RefusedItems: 0.002, Blocked: 0.002, Safety: 0.005, Truncated: 0.005, BadJSON: 0.005,
		MissingLines: 0.002, NullLines: 0.001, UnreadableLines: 0.001,
		PartialCancelled: 0.2, CancelledStillCount: 0.1,
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
		Failed: 0.1, Cancelled: 0.1, Expired: 0.05, FailedItems: 0.05, Shuffled: 0.5, Cut: 0.1,
		ItemErrors: 0.03, RefusedItems: 0.005, Blocked: 0.005, Safety: 0.01, Truncated: 0.01, BadJSON: 0.01,
		MissingLines: 0.01, NullLines: 0.005, UnreadableLines: 0.005, DoubledLines: 0.002, ForeignLines: 0.002,
		RefusedCreate: 0.02, RefusedBatch: 0.02, CreatesLimited: 0.05, PartialCancelled: 0.5,
		CancelsIgnored: 0.1, CancelledStillCount: 0.3,
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
