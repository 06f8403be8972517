package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
)

// printJSON prints v. It escapes every character that is not printable, of which JSON itself
// escapes few: such characters occur in strings alone.
func printJSON(w io.Writer, v any) error {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	var escaped strings.Builder
	for _, r := range text.String() {
		if r == '\n' || unicode.IsPrint(r) {
			escaped.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&escaped, `\u%04x`, unit)
		}
	}
	if _, err := io.WriteString(w, escaped.String()); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}
