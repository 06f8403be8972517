package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// pageJSON is a page of a list as JSON. An empty page has an empty list, not null.
func pageJSON[T any](what string, items []T, broken []ledger.Broken, next ledger.Cursor) map[string]any {
	fields := map[string]any{what: append([]T{}, items...), "next": formatCursor(next)}
	if len(broken) > 0 {
		fields["broken"] = broken
	}
	return fields
}

// printPage prints the rows of a page below its headings, a row for each document that cannot be
// read, and how to continue if there is more.
func printPage(w io.Writer, headings []any, rows [][]any, broken []ledger.Broken, next ledger.Cursor) error {
	page := newTable(w)
	page.line(headings...)
	for _, row := range rows {
		page.line(row...)
	}
	for _, b := range broken {
		page.line(phrase.Safe(string(b.Path)), phrase.Broken(b))
	}
	err := page.end()
	if next.Path != "" {
		_, nextErr := fmt.Fprintf(w, "more: --after %s\n", formatCursor(next))
		err = errors.Join(err, nextErr)
	}
	return err
}

// formatCursor encodes a cursor for the command line; the zero Cursor is empty.
func formatCursor(c ledger.Cursor) string {
	if c.Path == "" {
		return ""
	}
	text, _ := json.Marshal(c) // a time and a string, which cannot fail
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseCursor(text string) (c ledger.Cursor, err error) {
	if text == "" {
		return c, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil || c.Path == "" {
		return c, fmt.Errorf("--after: %q is not a value that a list printed after \"more: --after\"", text)
	}
	return c, nil
}
