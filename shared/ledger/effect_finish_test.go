package ledger

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShorten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "short", "\xff", strings.Repeat("x", 2000), strings.Repeat("x", 2001), strings.Repeat("é", 1001),
		"x" + strings.Repeat("é", 1001), strings.Repeat("\xff", 5000),
	} {
		got := shorten(text)
		if !utf8.ValidString(got) || len(got) > 2003 {
			t.Errorf("%.20q became %.20q of %d bytes", text, got, len(got))
		}
		if len(text) <= 2000 && utf8.ValidString(text) && got != text {
			t.Errorf("%.20q was changed to %.20q", text, got)
		}
	}
}
