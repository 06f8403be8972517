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

// PrintPage prints the rows of a page below its headings, and a row for each document that cannot be
// read.
func PrintPage(w io.Writer, s Screen, headings []any, rows [][]any, broken []ledger.Broken) error {
	err := s.Rows(w, append([][]any{headings}, rows...))
	for _, b := range broken {
		_, brokenErr := fmt.Fprintf(w, "%s  %s\n", phrase.Safe(string(b.Path)), phrase.Broken(b))
		err = errors.Join(err, brokenErr)
	}
	return err
}

// PrintMore says of how many a page shows so many, and how to continue. Of the last page it says
// nothing. A nil total is not said.
func PrintMore(w io.Writer, shown int, total func() (ledger.Total, error), next ledger.Cursor) error {
	if next.Path == "" {
		return nil
	}
	share := ""
	if total != nil {
		all, err := total()
		if err != nil {
			return err
		}
		share = fmt.Sprintf("%d of %s\n", shown, all)
	}
	_, err := fmt.Fprintf(w, "%smore: --after %s\n", share, phrase.Cursor(next))
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
