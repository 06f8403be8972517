package terminal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
)

// A Screen is what a table is printed for.
type Screen struct {
	Width int       // of the terminal in columns; 0: as wide as the rows are
	Now   time.Time // the store's; with a width, times are relative to it
}

// Width returns the columns of the terminal that stdout is; 0 with wide, or where it is none.
func (e Environment) Width(wide bool) int {
	if wide {
		return 0
	}
	return e.columns(e.Out)
}

// columns returns how wide the terminal is that w writes to, and 0 where it is none.
func (e Environment) columns(w io.Writer) int {
	if e.Columns > 0 {
		return e.Columns
	}
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		return 80 // the terminal does not report its size
	}
	return width
}

// text is the text of a cell.
func (s Screen) text(cell any) string {
	at, ok := cell.(time.Time)
	switch {
	case ok && s.Width > 0:
		return phrase.Relative(at, s.Now)
	case ok:
		return phrase.LocalTime(at)
	default:
		return fmt.Sprint(cell)
	}
}

const (
	columnGap   = 2 // between two columns
	leastColumn = 8 // a column is not made narrower
)

// Rows prints rows in aligned columns, cut to the width of the screen: the widest columns first,
// the names of the first column in their middle.
func (s Screen) Rows(w io.Writer, rows [][]any) error {
	texts := make([][]string, len(rows))
	var widths []int
	for i, row := range rows {
		for j, cell := range row {
			text := s.text(cell)
			texts[i] = append(texts[i], text)
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], utf8.RuneCountInString(text))
		}
	}
	if s.Width > 0 {
		narrow(widths, s.Width)
	}
	var out bytes.Buffer
	for _, row := range texts {
		for j, text := range row {
			if s.Width > 0 {
				text = cut(text, widths[j], j == 0)
			}
			if out.WriteString(text); j < len(row)-1 {
				out.WriteString(strings.Repeat(" ", widths[j]-utf8.RuneCountInString(text)+columnGap))
			}
		}
		out.WriteByte('\n')
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// narrow makes the widest of the columns narrower until all of them fit into width.
func narrow(widths []int, width int) {
	for {
		total, widest := columnGap*(len(widths)-1), 0
		for j, w := range widths {
			if total += w; w > widths[widest] {
				widest = j
			}
		}
		if total <= width || widths[widest] <= leastColumn {
			return
		}
		widths[widest]--
	}
}

// cut shortens a text to width columns, at its end or in its middle.
func cut(text string, width int, middle bool) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	tail := 0
	if middle {
		tail = (width - 1) / 2
	}
	return string(runes[:width-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// watchEvery is how often --watch reads the ledger again.
const watchEvery = 5 * time.Second

// WatchFlag adds --watch to a command that prints by repeated.
func WatchFlag(cmd *cobra.Command, watch *bool) {
	cmd.Flags().BoolVar(watch, "watch", false, "read and print again every 5 s, until you press Ctrl-C")
}

// Repeated calls print once or, with on, every five seconds until ctx ends or print fails: on a
// terminal in place of what was there before, otherwise below it where it has changed.
func Repeated(ctx context.Context, outside Environment, on bool, print func(io.Writer) error) error {
	if !on {
		return print(outside.Out)
	}
	var last []byte
	for {
		var page bytes.Buffer
		if outside.Width(false) > 0 && !outside.JSON {
			page.WriteString("\x1b[H\x1b[2J")
		}
		if err := print(&page); err != nil {
			if ctx.Err() != nil { // the operator ended it
				return nil
			}
			return err
		}
		if !bytes.Equal(page.Bytes(), last) {
			last = page.Bytes()
			if _, err := outside.Out.Write(last); err != nil {
				return fmt.Errorf("printing: %w", err)
			}
		}
		if outside.Pause(ctx, watchEvery) != nil {
			return nil
		}
	}
}

// WideFlag adds --wide to a command that prints a table.
func WideFlag(cmd *cobra.Command, wide *bool) {
	cmd.Flags().BoolVar(wide, "wide", false, "cut nothing to the terminal's width, and print absolute times")
}
