package operation

import "time"

// A Decided says who ended the waiting for something [R4], had it cancelled, or resolved a conflict [M5],
// when and why.
type Decided struct {
	At  time.Time `json:"at" firestore:"at"` // the store's time
	By  string    `json:"by,omitempty" firestore:"by,omitempty"`
	Why string    `json:"why" firestore:"why"`
}

// A Resolution is an operator's decision that the conflict of two terminal states is resolved [M5].
type Resolution struct {
	Stands State `json:"stands" firestore:"stands"` // the state that stood; beside another it does not count
	Decided
}

// HasCondition reports whether the record has a condition: its last look-ups were inconclusive, or
// the operation is missing.
func (r Record) HasCondition() bool { return r.Condition != "" || !r.MissingSince.IsZero() }

// WithoutCondition returns r after a conclusive look-up or a delivery: without a condition.
func (r Record) WithoutCondition() Record {
	r.Condition, r.ConditionSince = "", time.Time{}
	r.MissingSince, r.MissingAlertedAt = time.Time{}, time.Time{}
	return r
}
