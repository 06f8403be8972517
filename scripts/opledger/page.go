package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// pageJSON is a page of a list as JSON. An empty page has an empty list, not null.
func pageJSON[T any](what string, items []T, broken []ledger.Broken, next ledger.Cursor) map[string]any {
	fields := map[string]any{what: append([]T{}, items...), "next": phrase.Cursor(next)}
	if len(broken) > 0 {
		fields["broken"] = broken
	}
	return fields
}

// printPage prints the rows of a page below its headings, and a row for each document that cannot be
// read.
func printPage(w io.Writer, s screen, headings []any, rows [][]any, broken []ledger.Broken) error {
	err := s.rows(w, append([][]any{headings}, rows...))
	for _, b := range broken {
		_, brokenErr := fmt.Fprintf(w, "%s  %s\n", phrase.Safe(string(b.Path)), phrase.Broken(b))
		err = errors.Join(err, brokenErr)
	}
	return err
}

// printMore says of how many a page shows so many, and how to continue. Of the last page it says
// nothing. A nil total is not said.
func printMore(w io.Writer, shown int, total func() (ledger.Total, error), next ledger.Cursor) error {
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

// parseCursor reads the value of --after.
func parseCursor(text string) (ledger.Cursor, error) {
	c, err := phrase.ParseCursor(text)
	if err != nil {
		err = fmt.Errorf("--after: %q is not a value that a list printed after \"more: --after\"", text)
	}
	return c, err
}
