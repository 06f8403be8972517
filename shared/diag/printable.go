package diag

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns text as it may leave the process, to a log, a terminal or a page: what is not
// printable is written as Go escapes it, such as \n, \x1b or \u202e. Raw, such characters command a
// terminal or change the order of what is read: a sender could forge text [G8].
func Printable(text string) string { return escape(text, false) }

// PrintableLines is Printable for a text of several lines: line ends stay.
func PrintableLines(text string) string { return escape(text, true) }

func escape(text string, lines bool) string {
	fine := func(r rune) bool { return unicode.IsPrint(r) || lines && r == '\n' }
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !fine(r) }) {
		return text
	}
	var out strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1: // a byte that is not UTF-8
			out.WriteString(`\x` + strconv.FormatUint(uint64(text[i]), 16))
		case fine(r):
			out.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return out.String()
}
