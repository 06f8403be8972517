package terminal

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
)

// A Table prints lines of cells in aligned columns. The first error is returned by end.
type Table struct {
	out  *tabwriter.Writer
	errs []error
}

// NewTable makes a table that is printed on w.
func NewTable(w io.Writer) *Table { return &Table{out: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

// Line adds a line. Texts from outside must have passed safe.
func (t *Table) Line(cells ...any) {
	for i, cell := range cells {
		if at, ok := cell.(time.Time); ok {
			cell = phrase.LocalTime(at)
		}
		separator := "\t"
		if i == len(cells)-1 {
			separator = "\n"
		}
		_, err := fmt.Fprint(t.out, cell, separator)
		t.errs = append(t.errs, err)
	}
}

// Field prints a label and a text, from wherever it comes; of an empty text it prints nothing.
func (t *Table) Field(label, text string) {
	if text != "" {
		t.Line(label, phrase.Safe(text))
	}
}

// Realign gives the following lines columns of their own.
func (t *Table) Realign() { t.errs = append(t.errs, t.out.Flush()) }

// End prints the rest, and returns every error.
func (t *Table) End() error {
	t.Realign()
	return errors.Join(t.errs...)
}
