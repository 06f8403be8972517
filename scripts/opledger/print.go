package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf16"
)

// localTime is a time for a person: local, with its offset.
func localTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05-07:00")
}

// dash makes a cell of a table of a text that a stranger may have written: what is not printable could break the table or
// command the terminal.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// A sheet is lines of cells for a person, in columns.
type sheet struct {
	out  *tabwriter.Writer
	errs []error
}

func newSheet(w io.Writer) *sheet { return &sheet{out: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

func (s *sheet) line(cells ...any) {
	for i, cell := range cells {
		if at, ok := cell.(time.Time); ok {
			cell = localTime(at)
		}
		separator := "\t"
		if i == len(cells)-1 {
			separator = "\n"
		}
		_, err := fmt.Fprint(s.out, cell, separator)
		s.errs = append(s.errs, err)
	}
}

// realign lets the lines that follow have columns of their own.
func (s *sheet) realign() { s.errs = append(s.errs, s.out.Flush()) }

// end prints what is left, and returns what has gone wrong.
func (s *sheet) end() error {
	s.realign()
	return errors.Join(s.errs...)
}

// printJSON prints v. What is not printable stands in texts alone, and is escaped there: JSON itself escapes little of it.
func printJSON(w io.Writer, v any) error {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	var safe strings.Builder
	for _, r := range text.String() {
		if r == '\n' || unicode.IsPrint(r) {
			safe.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&safe, `\u%04x`, unit)
		}
	}
	if _, err := io.WriteString(w, safe.String()); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// span is a length of time for a person: its two greatest units.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = d.Truncate(time.Second); {
	case d < time.Second:
		return "0s"
	case d < time.Minute:
		return d.String()
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
	}
}
