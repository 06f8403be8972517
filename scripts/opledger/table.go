package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
)

// A table prints lines of cells in aligned columns. The first error is returned by end.
type table struct {
	out  *tabwriter.Writer
	errs []error
}

func newTable(w io.Writer) *table { return &table{out: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

// line adds a line. Texts from outside must have passed safe.
func (t *table) line(cells ...any) {
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

// realign gives the following lines columns of their own.
func (t *table) realign() { t.errs = append(t.errs, t.out.Flush()) }

// end prints the rest, and returns every error.
func (t *table) end() error {
	t.realign()
	return errors.Join(t.errs...)
}
