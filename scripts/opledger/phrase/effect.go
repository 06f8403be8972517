package phrase

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An EffectView is what the words about an effect need besides the effect itself.
type EffectView struct {
	Failed   map[string][]ledger.Item // the first FAILED items, by the name of their effect
	Max      int                      // attempts at least before an effect is given up
	RetryFor time.Duration            // how long an effect fails at least before it is given up
	Paused   bool                     // whether the functions perform no effects now
	Store    string                   // --store for the commands; empty: they need none
	Now      time.Time                // by the store's clock
}

// NextAttempt is when an effect may be tried next; zero if it is being run, done or dead.
func NextAttempt(e ledger.Effect) time.Time {
	if e.State != ledger.EffectPending {
		return time.Time{}
	}
	return e.ClaimableAt
}

// Next is the cell for NextAttempt: a time, or what an effect waits for.
func (v EffectView) Next(e ledger.Effect) any {
	if at := NextAttempt(e); at.IsZero() || !v.Paused || at.After(v.Now) {
		return at
	}
	return "when the pause ends"
}

// LastError is the cell for an effect's last error; a done effect has none.
func LastError(e ledger.Effect) string {
	if e.State == ledger.EffectDone {
		return "-"
	}
	return Readable(e.LastError)
}

// Standing says what an effect waits for; if it is dead, why, and what to do. It is empty for an
// effect that is new, done or waived.
func (v EffectView) Standing(e ledger.Effect) string {
	name, attempt, early := Safe(e.Name), v.Attempt(e), e.ClaimableAt.Sub(v.Now)
	switch {
	case e.Recovered != nil:
		return fmt.Sprintf("%s was recovered by %s at %s: the log shows that it was done before the ledger was restored",
			name, Safe(e.Recovered.By), LocalTime(e.Recovered.At))
	case e.State == ledger.EffectDead && e.Abandoned == nil:
		commands := v.Commands(e)
		return fmt.Sprintf("%s is dead: %s\n  run it again:  %s\n  or waive it:   %s",
			name, Readable(e.LastError), commands["replay"], commands["waive"])
	case e.State == ledger.EffectClaimed && early > 0:
		return fmt.Sprintf("%s is being run: %s; the lease ends in %s", name, attempt, Span(early))
	case e.State == ledger.EffectClaimed:
		return fmt.Sprintf("%s can be seized: %s; the lease ended at %s", name, attempt, LocalTime(e.ClaimableAt))
	case e.State == ledger.EffectPending && early > 0:
		return fmt.Sprintf("%s backs off: %s; the next is in %s\n  last error: %s", name, attempt, Span(early),
			Readable(e.LastError))
	case e.State == ledger.EffectPending && v.Paused && e.Failing != nil:
		return fmt.Sprintf("%s waits for the pause to end: %s\n  last error: %s", name, attempt, Readable(e.LastError))
	case e.State == ledger.EffectPending && v.Paused:
		return name + " waits for the pause to end: effects are paused"
	case e.State == ledger.EffectPending && e.Failing != nil:
		return fmt.Sprintf("%s is due to be tried again: %s\n  last error: %s", name, attempt, Readable(e.LastError))
	default:
		return ""
	}
}

// Withheld lists the effects of an operation that were withheld, and how to run each.
func (v EffectView) Withheld(r operation.Record) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(r.Effects)) {
		if r.Effects[name] == operation.EffectWithheld {
			lines = append(lines, fmt.Sprintf("%s was withheld: the operation ended more than OPLEDGER_RETENTION before "+
				"the ledger knew it\n  run it:  opledger replay %s", Safe(name), v.arguments(r.Key, name)))
		}
	}
	return lines
}

// Commands are the command lines for a dead effect.
func (v EffectView) Commands(e ledger.Effect) map[string]string {
	if e.State != ledger.EffectDead || e.Abandoned != nil {
		return nil
	}
	arguments := v.arguments(e.Operation, e.Name)
	return map[string]string{
		"replay": "opledger replay " + arguments,
		"waive":  "opledger waive " + arguments + " --reason 'WHY'",
	}
}

// Operation names an operation on a command line, with the store.
func (v EffectView) Operation(key operation.Key) string {
	return ShellWord(string(key)) + v.StoreFlag()
}

// arguments name an effect on a command line.
func (v EffectView) arguments(key operation.Key, effect string) string {
	return ShellWord(string(key)) + " --effect " + ShellWord(effect) + v.StoreFlag()
}

// StoreFlag names the store on a command line; empty where a command finds it by itself.
func (v EffectView) StoreFlag() string {
	return StoreFlag(v.Store)
}

// EffectState is an effect's state, with whether the effect was waived.
func EffectState(e ledger.Effect) string {
	if e.Abandoned != nil {
		return string(e.State) + " (waived)"
	}
	return string(e.State)
}
