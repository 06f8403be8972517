package operation

import "time"

// A Reason says why an event was applied or dropped, in words that logs and metrics count.
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

// A Decision is what the reducer makes of an event.
type Decision struct {
	Applied bool
	Reason  Reason
}

// Reduce decides whether e may change r, and says why [M2]. A record that does not exist yet is the zero Record. The order
// of the checks is part of the promise [M3]: a non-terminal event never touches a settled record; a lower rank never wins;
// of two different terminal states the first stands, unless allowed names the move [M5]; at equal rank only a newer
// server-side time passes.
//
// A drop is final: with r only ever changed by what Reduce applied, an event that was dropped once would be dropped again
// at any later time. Callers may therefore record a drop without guarding against a concurrent change of r.
func Reduce(r Record, e Event, allowed Transitions) Decision {
	was, is := r.State.Rank(), e.State.Rank()
	conflict := r.State.Terminal() && e.State.Terminal() && r.State != e.State
	newer := serverTime(e.UpdateTime).After(serverTime(r.UpdateTime))
	switch {
	case r.State.Terminal() && !e.State.Terminal():
		return Decision{Reason: RegressFromTerminal}
	case is < was:
		return Decision{Reason: LowerRank}
	case conflict && !allowed.Allow(r.State, e.State):
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

// Apply returns r as an applied event leaves it. now is the store's time and only says when the ledger took the end in. The
// same state again fills in what was empty and changes nothing else; a new state brings its own result. Either way what
// look-ups could not learn is known now.
func Apply(r Record, e Event, now time.Time) Record {
	r = r.WithoutCondition()
	if r.State == e.State {
		r.Result = r.Result.fill(e.Result)
	} else {
		r.Result = e.Result
		if e.State.Terminal() {
			r.SettledAt, r.SettledBy = Instant(now), e.Source
		}
	}
	r.State, r.UpdateTime = e.State, Instant(e.UpdateTime)
	return r
}
