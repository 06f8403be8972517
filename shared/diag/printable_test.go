package diag_test

import (
	"testing"
	"unicode"

	"github.com/opledger/opledger/shared/diag"
)

// TestPrintable: controls, C0 and C1, and characters that change the order of a text are escaped, and
// bytes that are not UTF-8. Nothing else changes [G8].
func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", `Prüfung "ü" 日本 \n 😀`: `Prüfung "ü" 日本 \n 😀`,
		"a\x1b[2Jb": `a\x1b[2Jb`, "a\u009b2Jb": `a\u009b2Jb`, "a\u0085b": `a\u0085b`, "a\x00b\x7f": `a\x00b\x7f`,
		"batches/\u202ecba": `batches/\u202ecba`, "a\u2066b\u200bc\ufeffd": `a\u2066b\u200bc\ufeffd`,
		"a\nb\r\tc": `a\nb\r\tc`, "a\xffb\xc3": `a\xffb\xc3`, "\ufffd": "\ufffd", "\U000e0001": `\U000e0001`,
	} {
		got := diag.Printable(text)
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Errorf("%q: %U is left", text, r)
			}
		}
	}
	if got := diag.PrintableLines("a\nb\u202e"); got != "a\nb\\u202e" {
		t.Errorf("%q", got)
	}
}
