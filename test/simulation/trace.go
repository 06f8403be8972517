package simulation

import (
	"fmt"
	"strings"
	"time"
)

// A trace is what happened in a schedule, a line for each step.
type trace struct {
	began time.Time
	lines []string
}

func (t *trace) add(step int, at time.Time, label, outcome string) {
	if outcome != "" {
		outcome = "  → " + outcome
	}
	t.lines = append(t.lines, fmt.Sprintf("%4d  %12v  %s%s", step, at.Sub(t.began), label, outcome))
}

// String returns the trace as text, a line for each step.
func (t *trace) String() string { return strings.Join(t.lines, "\n") + "\n" }

func (g *gate) noteFate(c *call, f fate, err error) {
	if g.trace == nil {
		return
	}
	outcome := outcomeOf(err)
	if f != works {
		outcome = strings.TrimSpace(f.String() + "  " + outcome)
	}
	g.note(c.label(), outcome)
}

func (g *gate) noteOrphan(c *call, landed bool) {
	outcome := "its caller is gone; it does not arrive"
	if landed {
		outcome = "its caller is gone; IT ARRIVES"
	}
	g.note(c.label(), outcome)
}

func outcomeOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
