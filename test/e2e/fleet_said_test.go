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

// saidAbout returns what the processes logged of the operations that a problem names.
func (f *fleet) saidAbout(problem string) string {
	var said []string
	for _, p := range f.processes() {
		for _, line := range p.lines() {
			if line.Operation != "" && strings.Contains(problem, line.Operation) {
				said = append(said, fmt.Sprintf("%s %s %s %s %s attempt %d %s %s", line.Time, p.id, line.Event,
					line.Outcome, line.Reason, line.Attempt, line.Message, line.Error))
			}
		}
	}
	slices.Sort(said)
	return strings.Join(said, "\n")
}

// saidOf returns what a process logged of one attempt at the effect of a key.
func (p *process) saidOf(key string, number int) (lines []logLine) {
	for _, line := range p.effectLines(operationOf(key)) {
		if line.Attempt == number {
			lines = append(lines, line)
		}
	}
	return lines
}

// whoFinished returns the processes and attempts that are said to have finished the effect of a key.
func (f *fleet) whoFinished(key string) (all []attempt) {
	for _, p := range f.processes() {
		for _, line := range p.effectLines(operationOf(key)) {
			if line.Outcome == "finished" {
				all = append(all, attempt{process: p.id, number: line.Attempt})
			}
		}
	}
	return all
}
