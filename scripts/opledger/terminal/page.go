package terminal

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// PageJSON is a page of a list as JSON. An empty page has an empty list, not null.
func PageJSON[T any](what string, items []T, broken []ledger.Broken, next ledger.Cursor) map[string]any {
	fields := map[string]any{what: append([]T{}, items...), "next": phrase.Cursor(next)}
	if len(broken) > 0 {
		fields["broken"] = broken
	}
	return fields
}

// PrintPage prints a row for each item of a page below the headings, and one for each document that
// cannot be read. An empty page is said in the words none.
func PrintPage[T any](
	w io.Writer, s Screen, page ledger.Page[T], none string, headings []any, row func(T) []any,
) error {
	if len(page.Items)+len(page.Broken) == 0 {
		_, err := fmt.Fprintln(w, none)
		return err
	}
	rows := [][]any{headings}
	for _, item := range page.Items {
		rows = append(rows, row(item))
	}
	err := s.Rows(w, rows)
	for _, b := range page.Broken {
		_, brokenErr := fmt.Fprintf(w, "%s  %s\n", phrase.Safe(string(b.Path)), phrase.Broken(b))
		err = errors.Join(err, brokenErr)
	}
	return err
}

// PrintMore says of how many a page shows so many, and how to continue. Of the last page it says
// nothing. A nil total is not said.
func PrintMore[T any](w io.Writer, page ledger.Page[T], total func() (ledger.Total, error)) error {
	if page.Next.Path == "" {
		return nil
	}
	share := ""
	if total != nil {
		all, err := total()
		if err != nil {
			return err
		}
		share = fmt.Sprintf("%d of %s\n", len(page.Items)+len(page.Broken), all)
	}
	_, err := fmt.Fprintf(w, "%smore: --after %s\n", share, phrase.Cursor(page.Next))
	return err
}

// PageFlags choose a page of a list.
type PageFlags struct {
	Limit int
	after string
}

// Add adds the flags to a command that lists what.
func (p *PageFlags) Add(cmd *cobra.Command, what string) {
	cmd.Flags().IntVar(&p.Limit, "limit", 50, "at most this many "+what)
	cmd.Flags().StringVar(&p.after, "after", "",
		"print the next page: the value that the last one printed after more")
}

// Parse returns where the page begins.
func (p *PageFlags) Parse() (ledger.Cursor, error) {
	if p.Limit < 1 {
		return ledger.Cursor{}, fmt.Errorf("--limit: it must be at least 1, not %d", p.Limit)
	}
	c, err := phrase.ParseCursor(p.after)
	if err != nil {
		err = fmt.Errorf("--after: %q is not a value that a list printed after \"more: --after\"", p.after)
	}
	return c, err
}
