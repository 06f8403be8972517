package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// A progress is one line on stderr that is overwritten; nothing where stderr is no terminal.
type progress struct {
	w     io.Writer // nil: nothing is printed
	width int
	last  int // the columns of the line that stands there
}

func newProgress(outside environment) *progress {
	if outside.columns > 0 {
		return &progress{w: outside.err, width: outside.columns}
	}
	file, ok := outside.err.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return &progress{}
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return &progress{w: file, width: width}
}

// say replaces the line.
func (p *progress) say(words string) {
	if p.w == nil {
		return
	}
	words = cut(words, p.width-1, false)
	n := utf8.RuneCountInString(words)
	_, _ = fmt.Fprint(p.w, "\r", words, strings.Repeat(" ", max(p.last-n, 0))) // a lost line loses nothing else
	p.last = n
}

// end removes the line. It may be called again.
func (p *progress) end() {
	if p.w != nil && p.last > 0 {
		_, _ = fmt.Fprint(p.w, "\r", strings.Repeat(" ", p.last), "\r")
		p.last = 0
	}
}
