package operation

import (
	"maps"
	"slices"
	"time"
)

// SchemaVersion is the number that documents of today's shape carry, so that a later revision can tell old from new.
const SchemaVersion = 1

// An EffectStatus is what a record says of one of its side effects. The effect's own document says more.
type EffectStatus string

// The statuses of a side effect in its operation's record.
const (
	EffectOpen   EffectStatus = "open" // planned, and still to be done: its document is PENDING or CLAIMED
	EffectDone   EffectStatus = "done"
	EffectDead   EffectStatus = "dead"   // given up; a person must look
	EffectWaived EffectStatus = "waived" // given up, and a person has said that this is all right
	// EffectWithheld: not planned, because the operation ended longer ago than the retention when
	// the ledger first heard of it. It has no document. A person's message plans it [L3, G5].
	EffectWithheld EffectStatus = "withheld"
)

// Closed reports whether nothing is left to do for an effect with this status. A word that this revision does not
// know keeps the record, to be safe [L3].
func (s EffectStatus) Closed() bool {
	return s == EffectDone || s == EffectWaived || s == EffectWithheld
}

// A Progress counts the items of a result that a side effect runs once for each of [K4].
type Progress struct {
	Done   int64 `json:"done" firestore:"done"`
	Failed int64 `json:"failed" firestore:"failed"` // given up
	Total  int64 `json:"total" firestore:"total"`   // 0 while it is not known
}

// A Record is what is known of one operation: the single source of truth [L1]. It is stored as one document in this
// shape; a person reads it in the Firestore console [G4].
type Record struct {
	Schema int `json:"schema" firestore:"schema"`
	// Version counts the writes, so that every write changes the document.
	Version int64 `json:"version" firestore:"version"`
	Key     Key   `json:"key" firestore:"key"`
	// Collection repeats the key's collection, for queries.
	Collection Collection `json:"collection,omitempty" firestore:"collection,omitempty"`
	// Name is the resource name as it was given, for asking the API [K5].
	Name string `json:"name" firestore:"name"`
	// JobKind is the submitter's own label for what the job is for, such as "batch-review-classify".
	JobKind string `json:"jobKind,omitempty" firestore:"jobKind,omitempty"`
	State   State  `json:"state" firestore:"state"`
	// UpdateTime is the server's time of State; zero where no report said one.
	UpdateTime time.Time `json:"updateTime,omitzero" firestore:"updateTime,omitempty"`
	// Registered is false for an operation that only a delivery told us of: nothing is looked up and no effect runs for
	// it until it is registered [W5].
	Registered bool `json:"registered" firestore:"registered"`
	// CreatedAt is when the ledger first heard of the operation; lists are in its order.
	CreatedAt time.Time `json:"createdAt" firestore:"createdAt"`
	// SubmittedAt is when the submitter says it submitted the operation.
	SubmittedAt time.Time `json:"submittedAt,omitzero" firestore:"submittedAt,omitempty"`
	// SettledAt is when the ledger took in the terminal state; SettledBy is the path it came by.
	SettledAt time.Time `json:"settledAt,omitzero" firestore:"settledAt,omitempty"`
	SettledBy Source    `json:"settledBy,omitempty" firestore:"settledBy,omitempty"`
	// Attempts counts how often reconciliation looked the operation up.
	Attempts int      `json:"attempts" firestore:"attempts"`
	Result   Result   `json:"result,omitzero" firestore:"result,omitempty"`
	Metadata Metadata `json:"metadata,omitempty" firestore:"metadata,omitempty"`
	// CorrelationID is the submitter's own id for the operation [K6].
	CorrelationID string `json:"correlationId,omitempty" firestore:"correlationId,omitempty"`
	// Effects says for each planned side effect whether it is done [L1].
	Effects map[string]EffectStatus `json:"effects,omitempty" firestore:"effects,omitempty"`
	// DeadEffect is true while one of Effects is dead, and else absent: dead letters are found by it.
	DeadEffect bool `json:"deadEffect,omitempty" firestore:"deadEffect,omitempty"`
	// Progress says how far the side effects have come that run once per item of a result [K4], by their names.
	Progress map[string]Progress `json:"progress,omitempty" firestore:"progress,omitempty"`
	// ProgressAt is when Progress was last written; while an effect is being run it is up to about a second behind.
	ProgressAt time.Time `json:"progressAt,omitzero" firestore:"progressAt,omitempty"`
	// StuckSince is when the operation was first found pending for too long; AlertedAt when that was last alerted [R4].
	StuckSince time.Time `json:"stuckSince,omitzero" firestore:"stuckSince,omitempty"`
	AlertedAt  time.Time `json:"alertedAt,omitzero" firestore:"alertedAt,omitempty"`
	// Condition is why the last look-ups learned nothing, in their own word ("not-found", "rate-limited"), and
	// ConditionSince when the first of them said so; both are absent since Gemini last said how the operation stands.
	Condition      string    `json:"trouble,omitempty" firestore:"trouble,omitempty"`
	ConditionSince time.Time `json:"troubleSince,omitzero" firestore:"troubleSince,omitempty"`
	// MissingSince is when Gemini first did not find the operation, and MissingAlertedAt when that was last alerted
	// [R4]. Other trouble leaves both as they are, because it says nothing about whether the operation is there.
	MissingSince     time.Time `json:"missingSince,omitzero" firestore:"missingSince,omitempty"`
	MissingAlertedAt time.Time `json:"missingAlertedAt,omitzero" firestore:"missingAlertedAt,omitempty"`
	// Abandoned is set once a person has ended the waiting [R4]. It is not a state: a completion still counts.
	Abandoned *Abandonment `json:"abandoned,omitempty" firestore:"abandoned,omitempty"`
	// DueAt is when reconciliation must look at the operation again; absent when nothing is waited for [L4].
	DueAt time.Time `json:"dueAt,omitzero" firestore:"dueAt,omitempty"`
	// ExpireAt is when the record may be deleted; absent while anything is open or dead [L3]. Never beside DueAt.
	ExpireAt time.Time `json:"expireAt,omitzero" firestore:"expireAt,omitempty"`
}

// Settled reports whether the operation has ended, as far as the ledger knows.
func (r Record) Settled() bool { return r.State.Terminal() }

// Closed reports whether nothing more will happen by itself or needs a person: the operation ended and every planned
// effect is done or waived. A dead effect keeps its record, because an operator still has to act on it [L3].
func (r Record) Closed() bool {
	if !r.Settled() {
		return false
	}
	for _, status := range r.Effects {
		if !status.Closed() {
			return false
		}
	}
	return true
}

// WithEffect returns r with one effect's status set. r itself is unchanged.
func (r Record) WithEffect(name string, status EffectStatus) Record {
	effects := make(map[string]EffectStatus, len(r.Effects)+1)
	maps.Copy(effects, r.Effects)
	effects[name] = status
	r.Effects, r.DeadEffect = effects, slices.Contains(slices.Collect(maps.Values(effects)), EffectDead)
	return r
}

// WithProgress returns r with what it says of one effect's items set, as of now. r itself is unchanged.
func (r Record) WithProgress(name string, progress Progress, now time.Time) Record {
	all := make(map[string]Progress, len(r.Progress)+1)
	maps.Copy(all, r.Progress)
	all[name] = progress
	r.Progress, r.ProgressAt = all, Instant(now)
	return r
}

// Lifetime returns r with DueAt and ExpireAt as the rest of the record demands; it is the one place that decides how
// long a record lives [L3]. now is the store's time, retention how long a closed record is kept. A registered record
// that waits for its end is never deleted and keeps a DueAt, unless it was abandoned; one that is settled but has an
// open or dead effect has neither; a closed one expires retention after it was first found closed; so does an
// unregistered one.
func (r Record) Lifetime(now time.Time, retention time.Duration) Record {
	if r.Settled() || !r.Registered || r.Abandoned != nil {
		r.DueAt = time.Time{}
	}
	switch {
	case r.Registered && !r.Closed():
		r.ExpireAt = time.Time{}
	case r.ExpireAt.IsZero():
		r.ExpireAt = Instant(now.Add(retention))
	}
	return r
}
