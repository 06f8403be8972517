package operation

import (
	"maps"
	"slices"
	"time"
)

// The numbers of documents. An added field changes neither [L5].
const (
	// SchemaVersion is the number that this revision writes. It is raised where an older revision
	// would misread what is written, and only after a release whose NewestSchema is as high: then a
	// roll-back to that release leaves nothing unread [L6]. A document that has a higher one keeps it.
	SchemaVersion = 1
	// NewestSchema is the highest number that this revision reads. It leaves alone what is newer.
	NewestSchema = 2
)

// An EffectStatus is a side effect's status in its operation's record. The effect's own document
// has more.
type EffectStatus string

// The statuses of a side effect in its operation's record.
const (
	EffectOpen   EffectStatus = "open" // planned, and not done: its document is PENDING or CLAIMED
	EffectDone   EffectStatus = "done"
	EffectDead   EffectStatus = "dead"   // given up; the operator must decide
	EffectWaived EffectStatus = "waived" // given up, and the operator accepted that
	// EffectWithheld: not planned, because the operation had ended longer ago than the retention when
	// the ledger first saw it. It has no document. The operator's message plans it [L3, G5].
	EffectWithheld EffectStatus = "withheld"
)

// Closed reports whether nothing is left to do for an effect with this status. An unknown word
// counts as open, which keeps the record [L3].
func (s EffectStatus) Closed() bool {
	return s == EffectDone || s == EffectWaived || s == EffectWithheld
}

// A Progress counts the items of a side effect that runs once per item of a result [K4].
type Progress struct {
	Done   int64 `json:"done" firestore:"done"`
	Failed int64 `json:"failed" firestore:"failed"` // given up
	Total  int64 `json:"total" firestore:"total"`   // 0 while it is not known
}

// A Record is what the ledger knows of one operation, and its single source of truth [L1]. It is
// stored as one document of this shape, which the operator can read in the Firestore console [G4].
type Record struct {
	Schema int `json:"schema" firestore:"schema"`
	// Version counts the writes, so that every write changes the document.
	Version int64 `json:"version" firestore:"version"`
	Key     Key   `json:"key" firestore:"key"`
	// Collection repeats the key's collection, for queries.
	Collection Collection `json:"collection,omitempty" firestore:"collection,omitempty"`
	// Name is the resource name as it was given, for requests to the API [K5].
	Name string `json:"name" firestore:"name"`
	// Submission is what the registrations said, completed by the intent.
	Submission
	State State `json:"state" firestore:"state"`
	// UpdateTime is the server's time of State; zero if no report had one.
	UpdateTime time.Time `json:"updateTime,omitzero" firestore:"updateTime,omitempty"`
	// Registered is false for an operation that only a delivery reported. It is not looked up and
	// plans no effect until it is registered [W5].
	Registered bool `json:"registered" firestore:"registered"`
	// CreatedAt is when the ledger first saw the operation. Lists are in this order.
	CreatedAt time.Time `json:"createdAt" firestore:"createdAt"`
	// Incarnation is an id of this record: once it has expired, one that is created again has another.
	Incarnation string `json:"incarnation,omitempty" firestore:"incarnation,omitempty"`
	// SubmittedAt is when the operation was submitted, by its submitter's clock.
	SubmittedAt time.Time `json:"submittedAt,omitzero" firestore:"submittedAt,omitempty"`
	// SteppedAt, of a job, is when it last took a step, as its last look-up found it.
	SteppedAt time.Time `json:"steppedAt,omitzero" firestore:"steppedAt,omitempty"`
	// SettledAt is when the ledger ingested the terminal state; SettledBy is the path of that report.
	SettledAt time.Time `json:"settledAt,omitzero" firestore:"settledAt,omitempty"`
	SettledBy Source    `json:"settledBy,omitempty" firestore:"settledBy,omitempty"`
	// ConflictAt is when an event last named a terminal state other than State, which stands [M5].
	// ConflictState is that state, and ConflictBy the event's path. Absent: no event did, or that state
	// was applied later.
	ConflictAt    time.Time `json:"conflictAt,omitzero" firestore:"conflictAt,omitempty"`
	ConflictState State     `json:"conflictState,omitempty" firestore:"conflictState,omitempty"`
	ConflictBy    Source    `json:"conflictBy,omitempty" firestore:"conflictBy,omitempty"`
	// ConflictResolved has, by the other terminal state, what an operator decided about it. Once it has
	// ConflictState, ConflictAt is absent and the rest stays.
	ConflictResolved map[string]Resolution `json:"conflictResolved,omitempty" firestore:"conflictResolved,omitempty"`
	// LookUps counts how often reconciliation looked the operation up; it is stored as attempts.
	LookUps int    `json:"attempts" firestore:"attempts"`
	Result  Result `json:"result,omitzero" firestore:"result,omitempty"`
	// Effects says for each planned side effect whether it is done [L1].
	Effects map[string]EffectStatus `json:"effects,omitempty" firestore:"effects,omitempty"`
	// DeadEffect is true while one of Effects is dead, and else absent: dead letters are found by it.
	DeadEffect bool `json:"deadEffect,omitempty" firestore:"deadEffect,omitempty"`
	// Progress is that of the side effects that run once per item of a result [K4], by their names.
	Progress map[string]Progress `json:"progress,omitempty" firestore:"progress,omitempty"`
	// ProgressAt is when Progress was last written. While an effect runs, it is about 1 s behind.
	ProgressAt time.Time `json:"progressAt,omitzero" firestore:"progressAt,omitempty"`
	// StuckSince is when the operation was first found pending for too long, AlertedAt when that was
	// last alerted [R4].
	StuckSince time.Time `json:"stuckSince,omitzero" firestore:"stuckSince,omitempty"`
	AlertedAt  time.Time `json:"alertedAt,omitzero" firestore:"alertedAt,omitempty"`
	// Condition is the reason of the last look-ups, which were inconclusive, such as "not-found" or
	// "rate-limited"; ConditionSince is the time of the first of them. A conclusive report clears
	// both.
	Condition      string    `json:"condition,omitempty" firestore:"condition,omitempty"`
	ConditionSince time.Time `json:"conditionSince,omitzero" firestore:"conditionSince,omitempty"`
	// MissingSince is when Gemini first did not find the operation, and MissingAlertedAt when that was
	// last alerted [R4]. Other conditions leave both as they are, because they do not say whether
	// Gemini has the operation.
	MissingSince     time.Time `json:"missingSince,omitzero" firestore:"missingSince,omitempty"`
	MissingAlertedAt time.Time `json:"missingAlertedAt,omitzero" firestore:"missingAlertedAt,omitempty"`
	// Abandoned is set once the operator ended the waiting [R4]. It is not a state: a completion still
	// counts.
	Abandoned *Decided `json:"abandoned,omitempty" firestore:"abandoned,omitempty"`
	// CancelRequested is set once an operator had Gemini asked to cancel the operation. It is not a state
	// either: only Gemini says how the operation ends [M7].
	CancelRequested *Decided `json:"cancelRequested,omitempty" firestore:"cancelRequested,omitempty"`
	// LateAt is when the operation is pending for too long, or when it was alerted as missing, whichever
	// is earlier [R4]; absent while it is not waited for. It and UnresolvedAt are Derived.
	LateAt time.Time `json:"lateAt,omitzero" firestore:"lateAt,omitempty"`
	// UnresolvedAt is CreatedAt while the operation is not registered, unless UnregisteredResolved says
	// that an operator has resolved that [W5].
	UnresolvedAt         time.Time `json:"unresolvedAt,omitzero" firestore:"unresolvedAt,omitempty"`
	UnregisteredResolved *Decided  `json:"unregisteredResolved,omitempty" firestore:"unregisteredResolved,omitempty"`
	// DueAt is when reconciliation must look the operation up; absent while it need not [L4].
	DueAt time.Time `json:"dueAt,omitzero" firestore:"dueAt,omitempty"`
	// ExpireAt is when the record may be deleted; absent while anything is open or dead [L3]. A record
	// never has both DueAt and ExpireAt.
	ExpireAt time.Time `json:"expireAt,omitzero" firestore:"expireAt,omitempty"`
}

// Submitted returns when the operation was submitted, and at the latest when the ledger first saw
// it: a submitter's clock that runs ahead postpones neither a look-up nor an alert [R1, R4].
func (r Record) Submitted() time.Time { return Earlier(r.SubmittedAt, r.CreatedAt) }

// PendingSince returns from when on it counts whether the operation is pending for too long: since it was
// submitted; a job since its last step [R4].
func (r Record) PendingSince() time.Time { return Later(r.Submitted(), r.SteppedAt) }

// ReportedUnfinished reports whether Gemini has said that the operation had not ended: its state is
// not that of a registration, or came with a time.
func (r Record) ReportedUnfinished() bool {
	return r.State.Known() && !r.Settled() && (r.State != Pending || !Missing(r.UpdateTime))
}

// Settled reports whether the ledger has a terminal state for the operation.
func (r Record) Settled() bool { return r.State.Terminal() }

// Late reports whether the operation is waited for and late at now.
func (r Record) Late(now time.Time) bool {
	return !r.LateAt.IsZero() && !r.LateAt.After(now)
}

// Unregistered reports whether the operation is not registered, and no operator has resolved that.
func (r Record) Unregistered() bool { return !r.Registered && r.UnregisteredResolved == nil }

// Closed reports whether the operation has ended and every planned effect is done, waived or
// withheld. A dead effect keeps its record, because the operator has to decide about it [L3].
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
	r.Effects = with(r.Effects, name, status)
	r.DeadEffect = slices.Contains(slices.Collect(maps.Values(r.Effects)), EffectDead)
	return r
}

// WithProgress returns r with one effect's progress set, as of now. r itself is unchanged.
func (r Record) WithProgress(name string, progress Progress, now time.Time) Record {
	r.Progress, r.ProgressAt = with(r.Progress, name, progress), Instant(now)
	return r
}

// with returns a copy of m in which key has value.
func with[V any](m map[string]V, key string, value V) map[string]V {
	all := make(map[string]V, len(m)+1)
	maps.Copy(all, m)
	all[key] = value
	return all
}

// Derived returns r with the fields that are stored for an index and follow from others [L5]. A reader
// calls it, too: an older revision changes the others, and keeps these as they were. stuckAfter is for
// how long after PendingSince the operation may be pending.
func (r Record) Derived(stuckAfter time.Duration) Record {
	r.LateAt, r.UnresolvedAt = time.Time{}, time.Time{}
	if !r.DueAt.IsZero() {
		r.LateAt = Instant(r.PendingSince().Add(stuckAfter))
		if !r.MissingAlertedAt.IsZero() && r.MissingAlertedAt.Before(r.LateAt) {
			r.LateAt = r.MissingAlertedAt
		}
	}
	if r.Unregistered() {
		r.UnresolvedAt = r.CreatedAt
	}
	return r
}

// Lifetime returns r with the DueAt and ExpireAt that follow from its other fields. Nothing else
// decides how long a record is kept [L3]. now is the store's time, retention how long a closed record is
// kept.
//
// A registered record that is pending has a DueAt, unless it was abandoned, and no ExpireAt. A
// settled one with an open or dead effect has neither. A closed one expires retention after it was
// first found closed, and so does an unregistered one.
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
