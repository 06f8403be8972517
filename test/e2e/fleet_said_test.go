package e2e

import (
	"fmt"
	"slices"
	"strings"
)

// operationOf takes the operation out of an idempotency key.
func operationOf(key string) string {
	return strings.TrimSuffix(strings.TrimPrefix(key, "gemini:"), "#publish")
}

// cutOff is here the outcome of an attempt that was ended before its answer came, because its lease
// could not be extended.
const cutOff = "cut off"

// mayRepeat reports whether the ledger could not learn how the attempt of a process at the effect
// of that key ended: the process was killed before it said so or its commit was made, its lease was
// lost, it could not reach the ledger, or it was told to stop.
func (f *fleet) mayRepeat(id, key string) bool {
	p := f.find(id)
	said := p.about(operationOf(key))
	if slices.ContainsFunc(said, func(outcome string) bool {
		unknown := []string{"lease-lost", "error", "unrecorded", cutOff}
		return slices.Contains(unknown, outcome) || outcome == "continued" && p.isLeaving()
	}) {
		return true
	}
	return p.wasKilled() && !slices.Contains(said, "finished") && !f.store.finished(id, key)
}

// saidAbout returns what the processes logged of the operations that a problem names.
func (f *fleet) saidAbout(problem string) string {
	var said []string
	for _, p := range f.processes() {
		for _, line := range p.lines() {
			if line.Operation != "" && strings.Contains(problem, line.Operation) {
				said = append(said, fmt.Sprintf("%s %s %s %s %s %s %s", line.Time, p.id, line.Event, line.Outcome,
					line.Reason, line.Message, line.Error))
			}
		}
	}
	slices.Sort(said)
	return strings.Join(said, "\n")
}

// whoFinished returns the processes that say they finished the effect of that key.
func (f *fleet) whoFinished(key string) (ids []string) {
	for _, p := range f.processes() {
		if slices.Contains(p.about(operationOf(key)), "finished") {
			ids = append(ids, p.id)
		}
	}
	return ids
}
