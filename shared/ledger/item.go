package ledger

import (
	"slices"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// An ItemState is where one item of a side effect stands.
type ItemState string

// The states of an item.
const (
	ItemPending ItemState = "PENDING" // it failed and is tried again with the effect's next attempt
	ItemDone    ItemState = "DONE"
	ItemFailed  ItemState = "FAILED" // given up: no attempt mends it, or there were MaxAttempts
)

// An Item is what became of one item of a batch's result, under an effect that runs once for each. It is for people, and for
// how often the item was tried: where a run goes on stands in the effect itself. Nobody waits for an item, so it has no due time.
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
	// Attempts counts those whose outcome was recorded.
	Attempts  int    `json:"attempts" firestore:"attempts"`
	LastError string `json:"lastError,omitempty" firestore:"lastError,omitempty"`
	// CreatedAt is when its first outcome was recorded.
	CreatedAt time.Time `json:"createdAt" firestore:"createdAt"`
	ExpireAt  time.Time `json:"expireAt" firestore:"expireAt"`
}

// An ItemProgress says how far an effect has come that runs once per item. Of the items before Next all have come to their
// end but those in Waiting.
type ItemProgress struct {
	Done   int64 `json:"done" firestore:"done"`
	Failed int64 `json:"failed" firestore:"failed"`
	Total  int64 `json:"total" firestore:"total"` // 0 while nobody knows
	// Next is the index of the first item that has no outcome yet.
	Next int64 `json:"next" firestore:"next"`
	// Waiting are the indexes, in order, of the items that failed and are to be tried again.
	Waiting []int64 `json:"waiting,omitempty" firestore:"waiting,omitempty"`
	// Chunks counts the commits that recorded items, and Recorded is how many the last of them did, so that one whose answer
	// was lost is known again.
	Chunks   int64 `json:"chunks" firestore:"chunks"`
	Recorded int   `json:"recorded" firestore:"recorded"`
}

// Wanted reports whether the item at index has not come to its end.
func (p ItemProgress) Wanted(index int64) bool {
	_, waits := slices.BinarySearch(p.Waiting, index)
	return index >= p.Next || waits
}

// From returns the index of the first item that is Wanted.
func (p ItemProgress) From() int64 {
	if len(p.Waiting) > 0 {
		return p.Waiting[0]
	}
	return p.Next
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
