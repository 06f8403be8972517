package ledger

import (
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// An ItemState is where one item of a side effect stands.
type ItemState string

// The states of an item.
const (
	ItemPending ItemState = "PENDING" // it failed and is tried again with the effect's next attempt
	ItemDone    ItemState = "DONE"
	ItemFailed  ItemState = "FAILED" // given up: no attempt fixes it, or too many and for too long
)

// An Item is what became of one item of a batch's result, under an effect that runs once for each.
// No process waits for an item, so it has no due time: where a run goes on stands in the effect
// itself. Only the FAILED ones are looked for, by FailedAt.
type Item struct {
	Schema    int           `json:"schema" firestore:"schema"`
	Version   int64         `json:"version" firestore:"version"`
	Operation operation.Key `json:"operation" firestore:"operation"`
	Effect    string        `json:"effect" firestore:"effect"`
	Key       string        `json:"key" firestore:"key"`
	Index     int64         `json:"index" firestore:"index"` // its place in the result, from 0
	State     ItemState     `json:"state" firestore:"state"`
	// IdempotencyKey is the item's own, the same on every attempt [K4].
	IdempotencyKey string `json:"idempotencyKey" firestore:"idempotencyKey"`
	// Fence is that of the claim which recorded it.
	Fence int64 `json:"fence" firestore:"fence"`
	// Attempts counts those whose outcome was recorded, since the item was last returned by a
	// replay.
	Attempts int `json:"attempts" firestore:"attempts"`
	// Failures counts those of them that failed while something else in the same run succeeded.
	// FailingSince is when the first of them all failed; zero where none did, or the last
	// succeeded.
	Failures     int       `json:"failures,omitempty" firestore:"failures,omitempty"`
	FailingSince time.Time `json:"failingSince,omitzero" firestore:"failingSince,omitempty"`
	LastError    string    `json:"lastError,omitempty" firestore:"lastError,omitempty"`
	// FailedAt is when the item last became FAILED. It has it, and what is kept, until it is DONE:
	// also while it waits after a replay. No other item has any of these.
	FailedAt time.Time `json:"failedAt,omitzero" firestore:"failedAt,omitempty"`
	// Response or Error is kept, in Gemini's own words, so that the item can be performed after
	// Gemini has let go of the result. FetchableUntil is on one that is too large to be kept: until
	// then Gemini probably has it.
	Response       string    `json:"response,omitempty" firestore:"response,omitempty"`
	Error          string    `json:"error,omitempty" firestore:"error,omitempty"`
	FetchableUntil time.Time `json:"fetchableUntil,omitzero" firestore:"fetchableUntil,omitempty"`
	// CreatedAt is when its first outcome was recorded.
	CreatedAt time.Time `json:"createdAt" firestore:"createdAt"`
	// ExpireAt is absent while there is a FailedAt, until the effect is waived.
	ExpireAt time.Time `json:"expireAt,omitzero" firestore:"expireAt,omitempty"`
}

// An ItemProgress says how far an effect has come that runs once per item. Of the items before Next
// all have come to their end but those in Waiting, and those that were Returned.
type ItemProgress struct {
	Done   int64 `json:"done" firestore:"done"`
	Failed int64 `json:"failed" firestore:"failed"`
	Total  int64 `json:"total" firestore:"total"` // 0 while it is not known
	// Next is the index of the first item that has no outcome yet. Length is how many items the
	// result holds; 0 while no run has read it to its end.
	Next   int64 `json:"next" firestore:"next"`
	Length int64 `json:"length,omitempty" firestore:"length,omitempty"`
	// Waiting are the indexes of the items that failed and are to be tried again.
	Waiting Ranges `json:"waiting,omitempty" firestore:"waiting,omitempty"`
	// Returned counts the items that a replay returned to waiting and that have not been tried
	// since. Their documents say FAILED, with a fence of at most ReturnedFence.
	Returned      int64 `json:"returned,omitempty" firestore:"returned,omitempty"`
	ReturnedFence int64 `json:"returnedFence,omitempty" firestore:"returnedFence,omitempty"`
	// Tries is the most attempts that an item has had which failed in the run that recorded last, and
	// is to be tried again.
	Tries int `json:"tries,omitempty" firestore:"tries,omitempty"`
	// Chunks counts the commits that recorded items, and Recorded is how many the last of them did,
	// so that one whose answer was lost is known again.
	Chunks   int64 `json:"chunks" firestore:"chunks"`
	Recorded int   `json:"recorded" firestore:"recorded"`
}

// Wanted reports whether the item at index has not come to its end; it does not know of those that
// were Returned.
func (p ItemProgress) Wanted(index int64) bool { return index >= p.Next || p.Waiting.Has(index) }

// Whole reports whether every item of the result has an outcome.
func (p ItemProgress) Whole() bool { return p.Length > 0 && p.Next >= p.Length }

// returned is the progress with every item that FAILED returned to waiting. fence is the effect's.
func (p ItemProgress) returned(fence int64) *ItemProgress {
	p.Returned, p.Failed, p.ReturnedFence = p.Returned+p.Failed, 0, fence
	return &p
}

func (p ItemProgress) counts() operation.Progress {
	return operation.Progress{Done: p.Done, Failed: p.Failed, Total: p.Total}
}

func (e Effect) progress() ItemProgress {
	if e.Progress == nil {
		return ItemProgress{}
	}
	return *e.Progress
}
