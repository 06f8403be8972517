package ledger

import (
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Delivery is the trace of one report that reached the ledger: when it came, what it said, what was decided and why. It is
// also the idempotency document of the webhook: the same delivery twice finds it [W4].
type Delivery struct {
	Schema     int              `json:"schema" firestore:"schema"`
	ID         string           `json:"id" firestore:"id"`
	Source     operation.Source `json:"source" firestore:"source"`
	Type       string           `json:"type,omitempty" firestore:"type,omitempty"`
	Name       string           `json:"name" firestore:"name"` // the operation's name in the form it arrived
	State      operation.State  `json:"state" firestore:"state"`
	UpdateTime time.Time        `json:"updateTime,omitzero" firestore:"updateTime,omitempty"`
	ReceivedAt time.Time        `json:"receivedAt" firestore:"receivedAt"`
	Outcome    Outcome          `json:"outcome" firestore:"outcome"`
	Reason     operation.Reason `json:"reason" firestore:"reason"`
	// Writer is the call that wrote this; it tells a call whose answer was lost that the write is its own.
	Writer   string    `json:"writer" firestore:"writer"`
	ExpireAt time.Time `json:"expireAt" firestore:"expireAt"`
}

// An EffectState is where a side effect stands [S2].
type EffectState string

// The states of a side effect. Only a claim makes CLAIMED; only the holder of the claim makes anything of it.
const (
	EffectPending EffectState = "PENDING" // to be run: planned, or released after a failure
	EffectClaimed EffectState = "CLAIMED" // somebody runs it, until ClaimableAt at the latest
	EffectDone    EffectState = "DONE"    // its outcome is known and final
	EffectDead    EffectState = "DEAD"    // given up; a person must look
)

// An Effect is one side effect of one operation: outbox and claim in one document. It is planned in the commit that changes
// the operation's state, so that no crash can separate the two.
type Effect struct {
	Schema  int   `json:"schema" firestore:"schema"`
	Version int64 `json:"version" firestore:"version"`
	// Operation and Name say which effect of which operation this is.
	Operation operation.Key `json:"operation" firestore:"operation"`
	Name      string        `json:"name" firestore:"name"`
	State     EffectState   `json:"state" firestore:"state"`
	// IdempotencyKey and Payload are frozen when the effect is planned: every attempt sends the same bytes [K4].
	IdempotencyKey string `json:"idempotencyKey" firestore:"idempotencyKey"`
	Payload        string `json:"payload" firestore:"payload"`
	// Fence is the claim's fencing token: one higher with every claim, never reset [S6].
	Fence int64 `json:"fence" firestore:"fence"`
	// Owner is the claim call that holds the effect, or held it last.
	Owner string `json:"owner,omitempty" firestore:"owner,omitempty"`
	// Attempts counts the claims since the effect was planned, was last reopened, or had an item of it come to its end. It is
	// the number of the attempt; whether the effect is given up rests on Failing and Interrupted.
	Attempts int `json:"attempts" firestore:"attempts"`
	// Interrupted counts those attempts whose lease ran out: their process died, or could not reach the store.
	Interrupted int `json:"interrupted,omitempty" firestore:"interrupted,omitempty"`
	// Failing tells of those attempts that failed; nil where none did.
	Failing   *Failing `json:"failing,omitempty" firestore:"failing,omitempty"`
	LastError string   `json:"lastError,omitempty" firestore:"lastError,omitempty"`
	// Abandoned says who waived the effect after it was DEAD.
	Abandoned *operation.Abandonment `json:"abandoned,omitempty" firestore:"abandoned,omitempty"`
	// Recovered says who recorded, after the store was restored from a backup, that the effect had been DONE.
	Recovered *Recovery `json:"recovered,omitempty" firestore:"recovered,omitempty"`
	// Replays are what people's messages have asked of the effect, the latest ones.
	Replays []Replay `json:"replays,omitempty" firestore:"replays,omitempty"`
	// Rerun is the nonce of a run that a person asked for; Runs, on the effect itself, how many such runs there are. Of them all
	// one is claimed at a time.
	Rerun string `json:"anew,omitempty" firestore:"anew,omitempty"`
	Runs  int    `json:"runs,omitempty" firestore:"runs,omitempty"`
	// WithoutRecord: the effect is dead, and there is no record that says so. A list finds it by this.
	WithoutRecord bool `json:"withoutRecord,omitempty" firestore:"withoutRecord,omitempty"`
	// Progress says how far an effect has come that runs once per item.
	Progress *ItemProgress `json:"progress,omitempty" firestore:"progress,omitempty"`
	// CreatedAt is when the effect was planned, DoneAt when its outcome was recorded.
	CreatedAt time.Time `json:"createdAt" firestore:"createdAt"`
	DoneAt    time.Time `json:"doneAt,omitzero" firestore:"doneAt,omitempty"`
	// ClaimableAt is when the effect may next be claimed: the end of the lease while CLAIMED, the end of the back-off while
	// PENDING. DueAt is only when the sweep looks at it; Unanswered counts the sweep's messages since the last claim.
	ClaimableAt time.Time `json:"claimableAt,omitzero" firestore:"claimableAt,omitempty"`
	DueAt       time.Time `json:"dueAt,omitzero" firestore:"dueAt,omitempty"`
	Unanswered  int       `json:"unanswered,omitempty" firestore:"unanswered,omitempty"`
	ExpireAt    time.Time `json:"expireAt,omitzero" firestore:"expireAt,omitempty"`
}

// Status is what the operation's record says of the effect.
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

// A Recovery is an operator's word that an effect was DONE before the store was restored from a backup.
type Recovery struct {
	At time.Time `json:"at" firestore:"at"`
	By string    `json:"by" firestore:"by"`
}

// A Replay is one person's message about an effect that was taken in, so that its redelivery does nothing.
type Replay struct {
	Message string    `json:"message" firestore:"message"` // its id at the queue
	By      string    `json:"by,omitempty" firestore:"by,omitempty"`
	At      time.Time `json:"at" firestore:"at"`
	// LastError is why the effect was dead that the message reopened, cut; the effect's own then tells of the attempts since.
	LastError string `json:"lastError,omitempty" firestore:"lastError,omitempty"`
	// Writer is the call that wrote this; it tells a call whose answer was lost that the write is its own.
	Writer string `json:"writer" firestore:"writer"`
}

// A Quarantined is a signed body that could not be understood, kept whole for a person [W6].
type Quarantined struct {
	Schema int    `json:"schema" firestore:"schema"`
	ID     string `json:"id" firestore:"id"` // the delivery's id
	Reason string `json:"reason" firestore:"reason"`
	Detail string `json:"detail" firestore:"detail"`
	Type   string `json:"type,omitempty" firestore:"type,omitempty"`
	// Headers are those of the delivery that help to read its body, by their names in lower case.
	Headers map[string]string `json:"headers,omitempty" firestore:"headers,omitempty"`
	// Body is gzip-compressed; the first of Parts parts, the others being documents under this one.
	Body       []byte    `json:"body" firestore:"body"`
	Parts      int       `json:"parts" firestore:"parts"`
	ReceivedAt time.Time `json:"receivedAt" firestore:"receivedAt"`
	// RetriedAt is when the body was last taken in once more, and Outcome what came of that.
	RetriedAt time.Time `json:"retriedAt,omitzero" firestore:"retriedAt,omitempty"`
	Outcome   Outcome   `json:"outcome,omitempty" firestore:"outcome,omitempty"`
	ExpireAt  time.Time `json:"expireAt" firestore:"expireAt"`
}

// A QuarantinedPart is more of a quarantined body.
type QuarantinedPart struct {
	Body     []byte    `json:"body" firestore:"body"`
	ExpireAt time.Time `json:"expireAt" firestore:"expireAt"`
}
