package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
)

// safe makes a text from outside printable: other characters could break a table or command the
// terminal. An empty text becomes a dash.
func safe(text string) string {
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

// plain is a text that a shell takes as one word.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

// shellWord quotes a text from outside for a command line.
func shellWord(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(safe(text), "'", `'\''`) + "'"
}

// localTime is a time in the local zone, with its offset.
func localTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05-07:00")
}

// span is a duration in its two greatest units.
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

// counted is a number of things, such as "1 effect" or "2 effects".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

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
