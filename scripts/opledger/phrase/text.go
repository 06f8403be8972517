// Package phrase says what the ledger holds in the words that the terminal and the console share, so
// that both say the same of one ledger. Texts from outside are made printable here.
package phrase

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Safe makes a text from outside printable: other characters could break a table or command the
// terminal. An empty text becomes a dash.
func Safe(text string) string {
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

// ShellWord quotes a text from outside for a command line.
func ShellWord(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(Safe(text), "'", `'\''`) + "'"
}

// Counted is a number of things, such as "1 effect" or "2 effects".
func Counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
