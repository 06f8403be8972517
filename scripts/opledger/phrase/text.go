// Package phrase says what the ledger holds in the words that the terminal and the console share, so
// that both say the same of one ledger. Texts from outside are made printable here.
package phrase

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/opledger/opledger/shared/diag"
)

// Safe makes a text from outside printable: other characters could break a table or command the
// terminal, and are escaped. An empty text becomes a dash.
func Safe(text string) string { return cmp.Or(diag.Printable(text), "-") }

// quoted is a text that an error quotes as Go does, perhaps cut before its end.
var quoted = regexp.MustCompile(`"((?:[^"\\]|\\.)*)(?:"|$)`)

// Readable is an error as a person reads it: what it quotes is without its escapes.
func Readable(text string) string {
	return Safe(quoted.ReplaceAllStringFunc(text, func(part string) string {
		inner := quoted.FindStringSubmatch(part)[1]
		whole, err := strconv.Unquote(`"` + inner + `"`)
		if err != nil || whole == inner {
			return part
		}
		return whole
	}))
}

// receiver is the host of an address in an error.
var receiver = regexp.MustCompile(`https?://([^/\s"'?#@]+?)[:,;.]?(?:[/\s"'?#]|$)`)

// Receiver is the host, with its port, whose address an error names; empty where it names none. It is
// read from the text, because the errors are those of many clients. Where the settings of an effect name
// its receiver, they count: an answer may name another host.
func Receiver(text string) string {
	if found := receiver.FindStringSubmatch(text); found != nil {
		return Safe(found[1])
	}
	return ""
}

// Sentence is a text that begins with a capital, unless it begins with the name opledger, which has none.
func Sentence(text string) string {
	if strings.HasPrefix(text, "opledger ") {
		return text
	}
	_, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(text[:size]) + text[size:]
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

// StoreFlag names a store at the end of a command line: " --store sqlite:/srv/ledger.db". It is empty where no store is
// given: then a command finds it by itself.
func StoreFlag(store string) string {
	if store == "" {
		return ""
	}
	return " --store " + ShellWord(store)
}

// Counted is a number of things, such as "1 effect" or "2 effects".
func Counted(n int, thing string) string {
	return strconv.Itoa(n) + " " + english.PluralWord(n, thing, "")
}

// Amount is Counted for numbers that may be large: "120,000 requests".
func Amount(n int64, thing string) string { return english.Plural(int(n), thing, "") }

// Number is a number with its thousands set apart, such as "120,000".
func Number(n int64) string { return humanize.Comma(n) }
