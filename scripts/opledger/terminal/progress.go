package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Progress is one line on stderr that is overwritten; nothing where stderr is no terminal.
type Progress struct {
	w     io.Writer // nil: nothing is printed
	width int
	last  int // the columns of the line that stands there
}

// NewProgress makes one for the terminal that stderr is, or of the columns that outside has.
func NewProgress(outside Environment) *Progress {
	if width := outside.columns(outside.Err); width > 0 {
		return &Progress{w: outside.Err, width: width}
	}
	return &Progress{}
}

// Shown reports whether there is a terminal that shows the line.
func (p *Progress) Shown() bool { return p.w != nil }

// Say replaces the line.
func (p *Progress) Say(words string) {
	if p.w == nil {
		return
	}
	words = cut(words, p.width-1, false)
	n := utf8.RuneCountInString(words)
	_, _ = fmt.Fprint(p.w, "\r", words, strings.Repeat(" ", max(p.last-n, 0))) // a lost line loses nothing else
	p.last = n
}

// End removes the line. It may be called again.
func (p *Progress) End() {
	if p.w != nil && p.last > 0 {
		_, _ = fmt.Fprint(p.w, "\r", strings.Repeat(" ", p.last), "\r")
		p.last = 0
	}
}
