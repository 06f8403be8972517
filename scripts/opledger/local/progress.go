package local

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A View shows the progress of a run. It ignores errors, which are no reason to stop the run.
type View interface {
	Show(Progress)
	End()
}

// Silent shows nothing.
type Silent struct{}

// Show does nothing.
func (Silent) Show(Progress) {}

// End does nothing.
func (Silent) End() {}

// Lines prints a plain line at most once per Every, for a pipe or a log.
type Lines struct {
	W     io.Writer
	Every time.Duration
	last  time.Time
}

// Show prints a line if the last one is old enough.
func (l *Lines) Show(p Progress) {
	if now := time.Now(); now.Sub(l.last) >= l.Every {
		l.last = now
		_, _ = fmt.Fprintln(l.W, headline(p))
	}
}

// End does nothing.
func (l *Lines) End() {}

func headline(p Progress) string { return progressWords(p) + " · " + deliveryWords(p) }

func progressWords(p Progress) string {
	words := fmt.Sprintf("submitted %d/%d · settled %d · effects done %d", p.Submitted, p.Wanted, p.Settled, p.Done)
	if j := p.Jobs; j.Wanted > 0 {
		words += fmt.Sprintf(" · jobs %d/%d · requests %d/%d", j.Ended, j.Wanted, j.Final, j.Requests)
	}
	return words
}

func deliveryWords(p Progress) string {
	s := p.Simulator
	return fmt.Sprintf("deliveries %d (%d lost, %d repeated, %d late) · requests to Gemini %d",
		s.Deliveries, s.Lost, s.Repeated, s.Late, s.APIRequests)
}

// Table redraws on a terminal a table of the operations that changed last.
type Table struct {
	W    io.Writer
	Rows int // of operations, at most
	// Size returns the size of the terminal. It is called before each drawing: a line that wraps,
	// or that has scrolled away, cannot be overwritten.
	Size  func() (width, height int)
	drawn int
}

// Show redraws the table in place.
func (t *Table) Show(p Progress) {
	width, height := t.Size()
	slices.SortStableFunc(p.Records, func(a, b operation.Record) int { return lastChange(b).Compare(lastChange(a)) })
	lines := []string{progressWords(p), deliveryWords(p), bar(p, max(min(width, 80)-3, 0))}
	for _, r := range p.Records[:min(t.Rows, len(p.Records))] {
		effect := "-"
		if status, planned := r.Effects[publishEffect]; planned {
			effect = string(status)
		}
		lines = append(lines, fmt.Sprintf("  %-22s %-10s %-10s look-ups %d  effect %s",
			shorten(string(r.Key), 22), r.State, r.SettledBy, r.LookUps, effect))
	}
	lines = lines[:min(len(lines), max(height-1, 1))]
	for len(lines) < t.drawn {
		lines = append(lines, "")
	}
	var out strings.Builder
	if t.drawn > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", t.drawn) // up to the first line of the last drawing
	}
	for _, line := range lines {
		out.WriteString("\x1b[2K" + shorten(line, width-1) + "\n")
	}
	t.drawn = len(lines)
	_, _ = io.WriteString(t.W, out.String())
}

// End keeps the last drawing.
func (t *Table) End() { t.drawn = 0 }

func lastChange(r operation.Record) time.Time {
	if r.Settled() {
		return r.SettledAt
	}
	return r.CreatedAt
}

// shorten cuts text to width characters.
func shorten(text string, width int) string {
	characters := []rune(text)
	if len(characters) <= width {
		return text
	}
	return string(characters[:max(width-1, 0)]) + "…"
}

// bar draws how many are done, settled, submitted and missing.
func bar(p Progress, width int) string {
	part := func(n, most int) int { return min(n*width/max(p.Wanted, 1), most) }
	submitted := part(p.Submitted, width)
	settled := part(p.Settled, submitted)
	done := part(p.Done, settled)
	return "[" + strings.Repeat("█", done) + strings.Repeat("▓", settled-done) + strings.Repeat("░", submitted-settled) +
		strings.Repeat(" ", width-submitted) + "]"
}
