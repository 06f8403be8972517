package operation

// A State is how far an operation has come. Any other text is a state that the API added later: it
// is kept as it is and ranks as unknown [M1].
type State string

// The states.
const (
	Unknown        State = ""
	Pending        State = "PENDING"
	Running        State = "RUNNING"
	RequiresAction State = "REQUIRES_ACTION"
	Succeeded      State = "SUCCEEDED"
	Failed         State = "FAILED"
	Cancelled      State = "CANCELLED"
	Expired        State = "EXPIRED"
)

// States returns every known state, lowest rank first.
func States() []State {
	return []State{Pending, Running, RequiresAction, Succeeded, Failed, Cancelled, Expired}
}

// The ranks [M1]. Only their order matters.
const (
	rankUnknown  = -1
	rankPending  = 0
	rankRunning  = 1
	rankTerminal = 2
)

// Rank orders states: a report of a lower rank never changes a record of a higher one. An unknown
// state ranks lowest, so that a word that the API adds later cannot roll anything back [M1].
func (s State) Rank() int {
	switch s {
	case Pending:
		return rankPending
	case Running, RequiresAction:
		return rankRunning
	case Succeeded, Failed, Cancelled, Expired:
		return rankTerminal
	default:
		return rankUnknown
	}
}

// Known reports whether this revision knows the state.
func (s State) Known() bool { return s.Rank() > rankUnknown }

// Terminal reports whether the operation has ended, so that Gemini will do no more work on it [M9].
func (s State) Terminal() bool { return s.Rank() == rankTerminal }

// Waiting reports whether the operation waits for its submitter instead of Gemini.
func (s State) Waiting() bool { return s == RequiresAction }
