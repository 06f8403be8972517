package ledger

import (
	"cmp"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// An ItemState is the state of one item of a side effect.
type ItemState string

// The states of an item.
const (
	ItemPending ItemState = "PENDING" // it failed, and is tried again with the effect's next attempt
	ItemDone    ItemState = "DONE"
	ItemFailed  ItemState = "FAILED" // given up: a permanent failure, or too many for too long
)

// An Item is the outcome of one item of a batch's result, found by its key, of an effect that runs
// once for each. An item has no due time: its effect has. Items that are tried again are queried by
// WaitingSince, FAILED ones by FailedAt.
type Item struct {
	Schema    int           `json:"schema" firestore:"schema"`
	Version   int64         `json:"version" firestore:"version"`
	Operation operation.Key `json:"operation" firestore:"operation"`
	Effect    string        `json:"effect" firestore:"effect"`
	Key       string        `json:"key" firestore:"key"`
	// Index is where it stood in the result when it was last tried, from 0. The result may come in
	// another order each time.
	Index int64     `json:"index" firestore:"index"`
	State ItemState `json:"state" firestore:"state"`
	// IdempotencyKey is the item's own, the same on every attempt [K4].
	IdempotencyKey string `json:"idempotencyKey" firestore:"idempotencyKey"`
	// Fence is that of the claim that recorded it.
	Fence int64 `json:"fence" firestore:"fence"`
	// Attempts counts the recorded attempts since a replay last returned the item.
	Attempts int `json:"attempts" firestore:"attempts"`
	// Failures counts those of them that failed while another item of the same run succeeded.
	// FailingSince is when the first of them all failed; zero where none did, or the last
	// succeeded.
	Failures     int       `json:"failures,omitempty" firestore:"failures,omitempty"`
	FailingSince time.Time `json:"failingSince,omitzero" firestore:"failingSince,omitempty"`
	// LastError, LastStatus and LastFailedAt are the last failure: why, the HTTP status that was
	// answered, and when. They stay when the item is DONE. The latter two are zero where an earlier
	// version recorded the failure; a status also where none was answered.
	LastError    string    `json:"lastError,omitempty" firestore:"lastError,omitempty"`
	LastStatus   int       `json:"lastStatus,omitempty" firestore:"lastStatus,omitempty"`
	LastFailedAt time.Time `json:"lastFailedAt,omitzero" firestore:"lastFailedAt,omitempty"`
	// WaitingSince is when it last began to wait for another attempt; only while it is PENDING.
	WaitingSince time.Time `json:"waitingSince,omitzero" firestore:"waitingSince,omitempty"`
	// FailedAt is when the item last became FAILED. It and what is kept stay until the item is
	// DONE, also while it waits after a replay. No other item has any of these.
	FailedAt time.Time `json:"failedAt,omitzero" firestore:"failedAt,omitempty"`
	// Response or Error is kept as Gemini wrote it, so that the item can be performed after Gemini
	// has deleted the result. FetchableUntil is set on one that is too large to be kept: until then
	// Gemini probably has it.
	Response       string    `json:"response,omitempty" firestore:"response,omitempty"`
	Error          string    `json:"error,omitempty" firestore:"error,omitempty"`
	FetchableUntil time.Time `json:"fetchableUntil,omitzero" firestore:"fetchableUntil,omitempty"`
	// CreatedAt is when its first outcome was recorded.
	CreatedAt time.Time `json:"createdAt" firestore:"createdAt"`
	// ExpireAt is absent while there is a FailedAt, until the effect is waived.
	ExpireAt time.Time `json:"expireAt,omitzero" firestore:"expireAt,omitempty"`
}

// progressSchema is the number of an effect that has an ItemProgress [L6]. In number 1 Next was a
// position in the result, before which all items had an outcome.
const progressSchema = 2

// An ItemProgress is the progress of an effect that runs once per item. It belongs to keys: it counts
// the items that have an outcome, in whatever order the result comes.
type ItemProgress struct {
	Done   int64 `json:"done" firestore:"done"`
	Failed int64 `json:"failed" firestore:"failed"`
	Total  int64 `json:"total" firestore:"total"` // how many requests the batch has; 0 while it is not known
	// Next is how many items have an outcome, and so a document. Keys is the digest of their keys, an
	// operation.KeySum: what is read of a result up to the Nextth key holds exactly these items if it
	// has the same digest. It is empty where an effect of number 1 was begun.
	Next int64  `json:"next" firestore:"next"`
	Keys string `json:"keys,omitempty" firestore:"keys,omitempty"`
	// Length is how many keys the result held when it was last read to its end; 0 while no run has
	// done so.
	Length int64 `json:"length,omitempty" firestore:"length,omitempty"`
	// Returned counts the items that a replay returned to waiting and that have not been tried
	// since. Their documents are FAILED, with a fence of at most ReturnedFence.
	Returned      int64 `json:"returned,omitempty" firestore:"returned,omitempty"`
	ReturnedFence int64 `json:"returnedFence,omitempty" firestore:"returnedFence,omitempty"`
	// Tries is the most attempts of an item that failed in the last recorded run and is tried
	// again.
	Tries int `json:"tries,omitempty" firestore:"tries,omitempty"`
	// Chunks counts the commits that recorded items. Recorded is how many items the last of them
	// recorded; a commit whose answer was lost is recognized by it.
	Chunks   int64 `json:"chunks" firestore:"chunks"`
	Recorded int   `json:"recorded" firestore:"recorded"`
}

// Waiting returns how many items failed and are tried again, without the Returned ones. All are
// PENDING.
func (p ItemProgress) Waiting() int64 { return p.Next - p.Done - p.Failed - p.Returned }

// Whole reports whether the result was read to its end and every item of it has an outcome, as many
// as the batch has requests. It is not while that number is not known.
func (p ItemProgress) Whole() bool {
	return p.Length > 0 && p.Total > 0 && p.Next >= max(p.Length, p.Total)
}

// returned is the progress with every FAILED item returned to waiting. fence is the effect's.
func (p ItemProgress) returned(fence int64) *ItemProgress {
	p.Returned, p.Failed, p.ReturnedFence = p.Returned+p.Failed, 0, fence
	return &p
}

func (p ItemProgress) counts() operation.Progress {
	return operation.Progress{Done: p.Done, Failed: p.Failed, Total: p.Total}
}

func (e Effect) progress() ItemProgress { return *cmp.Or(e.Progress, &ItemProgress{}) }
