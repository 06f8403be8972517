package operation

import "time"

// A Reason says why an event was applied or dropped. Logs and metrics count it.
type Reason string

// The reasons of an event that is applied.
const (
	Advanced   Reason = "advanced"   // a higher rank than before
	Refreshed  Reason = "refreshed"  // equal rank, newer server time
	Transition Reason = "transition" // a terminal move that the policy allows
)

// The reasons of an event that is dropped [M3].
const (
	RegressFromTerminal    Reason = "regress-from-terminal"
	LowerRank              Reason = "lower-rank"
	TerminalConflict       Reason = "terminal-conflict"
	StaleOrEqualUpdateTime Reason = "stale-or-equal-update-time"
)

// A Decision is the reducer's result.
type Decision struct {
	Applied bool
	Reason  Reason
}

// Reduce decides whether e may change r, and why [M2]. The zero Record is one that does not exist
// yet. The order of the checks is part of the contract [M3]: a non-terminal event never changes a
// settled record; a lower rank never wins; of two different terminal states the first stands,
// unless allowed names the move, and the times say which came later [M5]; at equal rank only a newer
// server-side time passes.
//
// A drop is final. While r is changed only by events that Reduce applied, a dropped event would be
// dropped again at any later time. So callers may record a drop without guarding against a
// concurrent change of r.
func Reduce(r Record, e Event, allowed Transitions) Decision {
	was, is := r.State.Rank(), e.State.Rank()
	conflict := r.State.Terminal() && e.State.Terminal() && r.State != e.State
	before, after := serverTime(r.UpdateTime), serverTime(e.UpdateTime)
	newer, older := after.After(before), after.Before(before) && !Missing(after)
	switch {
	case r.State.Terminal() && !e.State.Terminal():
		return Decision{Reason: RegressFromTerminal}
	case is < was:
		return Decision{Reason: LowerRank}
	case conflict && (!allowed.Allow(r.State, e.State) || !newer && !older):
		return Decision{Reason: TerminalConflict}
	case is > was:
		return Decision{Applied: true, Reason: Advanced}
	case !newer:
		return Decision{Reason: StaleOrEqualUpdateTime}
	case conflict:
		return Decision{Applied: true, Reason: Transition}
	default:
		return Decision{Applied: true, Reason: Refreshed}
	}
}

// Apply returns r after an applied event. now is the store's time, and becomes SettledAt where the
// event settles the operation. The same state again only fills in empty fields of the result. A new
// state brings its own result, and ends a conflict about itself [M5]. Either way an error's code gets one
// form, and the record has no condition any more.
func Apply(r Record, e Event, now time.Time) Record {
	r = r.WithoutCondition()
	e.Result.ErrorCode = errorCode(e.Result.ErrorCode)
	if r.State == e.State {
		r.Result = r.Result.fill(e.Result)
	} else {
		r.Result = e.Result
		if e.State.Terminal() {
			r.SettledAt, r.SettledBy = Instant(now), e.Source
		}
	}
	r.State, r.UpdateTime = e.State, Instant(e.UpdateTime)
	if r.ConflictState == r.State {
		r.ConflictAt, r.ConflictState, r.ConflictBy = time.Time{}, "", ""
	}
	return r
}

// Refuse returns r after an event that Reduce dropped as a TerminalConflict and that no operator has
// resolved. State stays, and ConflictState shows the event's state to an operator. now is the store's
// time.
func Refuse(r Record, e Event, now time.Time) Record {
	r.ConflictAt, r.ConflictState, r.ConflictBy = Instant(now), e.State, e.Source
	return r
}

// Conflicted reports whether an event named another terminal state than State, and no operator has
// resolved that [M5]. Its fields may be out of date: an older revision keeps those of a state that it
// applied later, and sets those of a resolved conflict again.
func (r Record) Conflicted() bool {
	return !r.ConflictAt.IsZero() && r.ConflictState != r.State && !r.Resolved()
}

// Resolved reports whether an operator has resolved ConflictState against State.
func (r Record) Resolved() bool {
	_, is := r.Resolution(r.ConflictState)
	return is
}

// Resolution returns what an operator decided about the terminal state other, against State. A
// decision against an earlier State does not count.
func (r Record) Resolution(other State) (Resolution, bool) {
	decided, is := r.ConflictResolved[string(other)]
	return decided, is && decided.Stands == r.State
}

// Resolve returns r after an operator resolved its conflict. ConflictState stays, and so do earlier
// decisions about other states. r itself is unchanged.
func Resolve(r Record, by Decided) Record {
	decision := Resolution{Stands: r.State, Decided: by}
	r.ConflictAt, r.ConflictResolved = time.Time{}, with(r.ConflictResolved, string(r.ConflictState), decision)
	return r
}
