package gemini_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini"
)

// TestDisplayName: a batch's display name carries the whole id with any name [G6].
func TestDisplayName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("i", gemini.MaxCorrelationID)
	for _, test := range []struct{ name, id, want string }{
		{"nightly", "c-1", "nightly opledger:c-1"},
		{"", "c-1", "opledger:c-1"},
		{"  two words\n", "c-1", "two words opledger:c-1"},
		{"a opledger:c-2", "c-1", "a opledger:c-2 opledger:c-1"},
		{strings.Repeat("n", 200), "c-1", strings.Repeat("n", 112) + "… opledger:c-1"},
		{strings.Repeat("n", 200), long, strings.Repeat("n", 15) + "… opledger:" + long},
		{"n", "", "n"},
		{"n", "a b", "n"},
		{strings.Repeat("n", 200), "", strings.Repeat("n", 125) + "…"},
	} {
		got := gemini.DisplayName(test.name, test.id)
		if got != test.want || len(got) > 128 {
			t.Errorf("G6: %q and %q: got %q of %d bytes, want %q", test.name, test.id, got, len(got), test.want)
		}
		if id := gemini.CorrelationIn(got); gemini.CheckCorrelationID(test.id) == nil && id != test.id {
			t.Errorf("G6: %q carries %q, want %q", got, id, test.id)
		}
	}
}

func TestCorrelationIn(t *testing.T) {
	t.Parallel()
	for display, want := range map[string]string{
		"opledger:c-1":                         "c-1",
		" my batch opledger:c-1\n":             "c-1",
		"opledger:c-2 opledger:opledger:c-1":   "opledger:c-1",
		"":                                     "",
		"nightly":                              "",
		"opledger:":                            "",
		"nightly opledger:c-1 (copy)":          "",
		"notopledger:c-1":                      "",
		"Opledger:c-1":                         "",
		"opledger:a\u00a0b":                    "",
		"opledger:" + strings.Repeat("i", 101): "",
		"nightly opledger:" + strings.Repeat("i", 9): strings.Repeat("i", 9),
	} {
		if got := gemini.CorrelationIn(display); got != want {
			t.Errorf("G6: %q: got %q, want %q", display, got, want)
		}
	}
}

func TestCheckCorrelationID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"c", "c-1", "a/b:c?d=e", "ü", strings.Repeat("i", 100)} {
		if err := gemini.CheckCorrelationID(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for id, says := range map[string]string{
		"": "empty", "a b": "space", " a": "space", "a\tb": "printable", "a\x00": "printable", "\xff": "printable",
		"a\u00a0": "printable", "a\u200b": "printable", strings.Repeat("i", 101): "101 bytes",
	} {
		err := gemini.CheckCorrelationID(id)
		if !errors.Is(err, gemini.ErrCorrelationID) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want one that says %q", id, err, says)
		}
	}
}
