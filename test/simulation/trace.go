package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
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

// namesOf returns paths as a trace shows them, in an order of their own.
func namesOf(paths []ledger.Path) string {
	if len(paths) == 0 {
		return "the time"
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = short(path)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// written returns writes as a trace shows them.
func written(writes []ledger.Write) string {
	names := make([]string, len(writes))
	for i, w := range writes {
		names[i] = short(w.Path) + said(w.Data)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// said returns what a trace shows of a document.
func said(data any) string {
	switch d := data.(type) {
	case operation.Record:
		return fmt.Sprintf("(%s, registered %v, v%d)", d.State, d.Registered, d.Version)
	case ledger.Effect:
		return fmt.Sprintf("(%s, fence %d, attempts %d)", d.State, d.Fence, d.Attempts)
	case ledger.Intent:
		return fmt.Sprintf("(%s)", d.State)
	case nil:
		return "(deleted)"
	default:
		return ""
	}
}
