package canary

import (
	"fmt"
	"strings"
	"time"
)

// A Report is what came of a run. It holds no secret, no address and no name of an account but
// those in Error and LookAt.
type Report struct {
	OK         bool   `json:"ok"`
	DurationMS int64  `json:"durationMs"`
	Steps      []Step `json:"steps"`
}

// Failed returns the names of the steps that failed.
func (r Report) Failed() []string {
	var names []string
	for _, s := range r.Steps {
		if s.Error != "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// A Step is one step that was made.
type Step struct {
	Name       string   `json:"step"`
	Did        []string `json:"did,omitempty"`
	DurationMS int64    `json:"durationMs"`
	// Counts are those of the pass.
	Counts map[string]any `json:"counts,omitempty"`
	// Hops are those of the batch.
	Hops []Hop `json:"hops,omitempty"`
	// LeftOut is why there was nothing to do.
	LeftOut string `json:"leftOut,omitempty"`
	// Error is which link is cut. Empty: the step succeeded, or was left out.
	Error string `json:"error,omitempty"`
	// LookAt is what to look at after an error.
	LookAt string `json:"lookAt,omitempty"`

	left []error // what could not be removed
}

// A Hop is the time between two moments in the life of the batch.
type Hop struct {
	From    string  `json:"from"`
	To      string  `json:"to"`
	Seconds float64 `json:"seconds"`
}

func (s *Step) hop(from, to string, began, ended time.Time) {
	s.Hops = append(s.Hops, Hop{From: from, To: to, Seconds: ended.Sub(began).Round(time.Millisecond).Seconds()})
}

func (s *Step) did(format string, args ...any) { s.Did = append(s.Did, fmt.Sprintf(format, args...)) }

// String returns the lines that are printed about the step.
func (s Step) String() string {
	word := "ok"
	switch {
	case s.Error != "":
		word = "failed"
	case s.LeftOut != "":
		word = "left out"
	}
	var text strings.Builder
	took := (time.Duration(s.DurationMS) * time.Millisecond).Round(100 * time.Millisecond)
	fmt.Fprintf(&text, "%-8s  %s, %s\n", word, s.Name, took)
	for _, line := range s.Did {
		fmt.Fprintf(&text, "          %s\n", line)
	}
	for _, hop := range s.Hops {
		fmt.Fprintf(&text, "          %s → %s: %.1f s\n", hop.From, hop.To, hop.Seconds)
	}
	for _, line := range []string{s.LeftOut, s.Error} {
		if line != "" {
			fmt.Fprintf(&text, "          %s\n", line)
		}
	}
	if s.LookAt != "" {
		fmt.Fprintf(&text, "          look at: %s\n", s.LookAt)
	}
	return text.String()
}
