package ledger

import (
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// An EffectState is the state of a side effect [S2].
type EffectState string

// The states of a side effect. Only a claim leads to CLAIMED; only its holder leads out of it while
// the lease lasts.
const (
	EffectPending EffectState = "PENDING" // to be run: planned, or released after a failure
	EffectClaimed EffectState = "CLAIMED" // a worker runs it, until ClaimableAt at the latest
	EffectDone    EffectState = "DONE"    // its outcome is known and final
	EffectDead    EffectState = "DEAD"    // given up; an operator must decide
)

// An Effect is one side effect of one operation: outbox and claim in one document. It is planned in
// the commit that changes the operation's state, so no crash can separate the two.
type Effect struct {
	Schema  int   `json:"schema" firestore:"schema"`
	Version int64 `json:"version" firestore:"version"`
	// Operation and Name identify the effect.
	Operation operation.Key `json:"operation" firestore:"operation"`
	Name      string        `json:"name" firestore:"name"`
	State     EffectState   `json:"state" firestore:"state"`
	// IdempotencyKey and Payload are frozen when the effect is planned: every attempt sends the
	// same bytes [K4].
	IdempotencyKey string `json:"idempotencyKey" firestore:"idempotencyKey"`
	Payload        string `json:"payload" firestore:"payload"`
	// Fence is the claim's fencing token: higher with every claim, never reset [S6].
	Fence int64 `json:"fence" firestore:"fence"`
	// Owner is the nonce of the claim that holds the effect, or held it last.
	Owner string `json:"owner,omitempty" firestore:"owner,omitempty"`
	// Attempts counts the claims since the effect was planned, was last reopened, or had an item
	// that was done or refused for good. It numbers the attempts; whether the effect is given up
	// rests on Failing and Interrupted.
	Attempts int `json:"attempts" firestore:"attempts"`
	// Interrupted counts the attempts whose lease ran out: their process died, or could not reach
	// the store.
	Interrupted int `json:"interrupted,omitempty" firestore:"interrupted,omitempty"`
	// Failing describes the attempts that failed; nil where none did.
	Failing   *Failing `json:"failing,omitempty" firestore:"failing,omitempty"`
	LastError string   `json:"lastError,omitempty" firestore:"lastError,omitempty"`
	// FailingSince is Failing's Since while the effect is open, for the query of failing effects. It
	// is derived.
	FailingSince time.Time `json:"failingSince,omitzero" firestore:"failingSince,omitempty"`
	// Lost: Gemini does not have the result; nil where it did not say so.
	Lost *Loss `json:"lost,omitempty" firestore:"lost,omitempty"`
	// History are the last maxHistory attempts, oldest first, also those before a replay. Empty on an
	// effect that an earlier version ran.
	History []Attempt `json:"history,omitempty" firestore:"history,omitempty"`
	// Abandoned says who waived the effect after it was DEAD.
	Abandoned *operation.Decided `json:"abandoned,omitempty" firestore:"abandoned,omitempty"`
	// Recovered says who recorded, after a restore from a backup, that the effect had been DONE.
	Recovered *Recovery `json:"recovered,omitempty" firestore:"recovered,omitempty"`
	// Replays are the operators' messages about the effect, the latest maxReplays.
	Replays []Replay `json:"replays,omitempty" firestore:"replays,omitempty"`
	// Rerun is the nonce of a run that an operator requested. Runs, on the first run, counts them.
	// At most one of them all is CLAIMED.
	Rerun string `json:"rerun,omitempty" firestore:"rerun,omitempty"`
	Runs  int    `json:"runs,omitempty" firestore:"runs,omitempty"`
	// WithoutRecord: the effect is dead, and no record names it. A list finds it by this.
	WithoutRecord bool `json:"withoutRecord,omitempty" firestore:"withoutRecord,omitempty"`
	// Progress is that of an effect that runs once per item.
	Progress *ItemProgress `json:"progress,omitempty" firestore:"progress,omitempty"`
	// CreatedAt is when the effect was planned, DoneAt when its outcome was recorded.
	CreatedAt time.Time `json:"createdAt" firestore:"createdAt"`
	DoneAt    time.Time `json:"doneAt,omitzero" firestore:"doneAt,omitempty"`
	// DiedAt is when the effect became DEAD, and stays while it is, waived or not. Zero on one that
	// died under an earlier version.
	DiedAt time.Time `json:"diedAt,omitzero" firestore:"diedAt,omitempty"`
	// ClaimableAt is when the effect may next be claimed: the end of the lease while CLAIMED, the
	// end of the back-off while PENDING. DueAt is only when the sweep publishes it again.
	// Unanswered counts the sweep's messages since the last claim, or the end of its attempt.
	ClaimableAt time.Time `json:"claimableAt,omitzero" firestore:"claimableAt,omitempty"`
	DueAt       time.Time `json:"dueAt,omitzero" firestore:"dueAt,omitempty"`
	Unanswered  int       `json:"unanswered,omitempty" firestore:"unanswered,omitempty"`
	ExpireAt    time.Time `json:"expireAt,omitzero" firestore:"expireAt,omitempty"`
}

// Status is the effect's status in the operation's record.
func (e Effect) Status() operation.EffectStatus {
	switch {
	case e.State == EffectDone:
		return operation.EffectDone
	case e.State == EffectDead && e.Abandoned != nil:
		return operation.EffectWaived
	case e.State == EffectDead:
		return operation.EffectDead
	default:
		return operation.EffectOpen
	}
}

// derived returns e with the field that is stored for an index and follows from others. A reader calls
// it, too [L5].
func (e Effect) derived() Effect {
	e.FailingSince = time.Time{}
	if e.Failing != nil && e.Status() == operation.EffectOpen {
		e.FailingSince = e.Failing.Since
	}
	return e
}

// A Recovery is an operator's statement that an effect was DONE before the store was restored from
// a backup.
type Recovery struct {
	At time.Time `json:"at" firestore:"at"`
	By string    `json:"by" firestore:"by"`
}

// A Replay records an operator's message, so that its redelivery changes nothing.
type Replay struct {
	Message string    `json:"message" firestore:"message"` // its id at the queue
	By      string    `json:"by,omitempty" firestore:"by,omitempty"`
	At      time.Time `json:"at" firestore:"at"`
	// LastError is the error of the DEAD effect that the message reopened, cut. The effect's own
	// then describes the attempts since.
	LastError string `json:"lastError,omitempty" firestore:"lastError,omitempty"`
	// Writer is the call that wrote this; as in Delivery.
	Writer string `json:"writer" firestore:"writer"`
}
