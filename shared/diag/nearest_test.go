package diag_test

import (
	"testing"

	"github.com/opledger/opledger/shared/diag"
)

// TestNearest: a slip finds the word that was meant, and another word finds none.
func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"GRACE", "INTERVAL", "EFFECTS", "EFFECTS_PAUSED", "EFFECT_SECRET", "on", "do", "name", "jobKinds",
		"batches", "batchJobs"}
	for word, want := range map[string]string{
		"GRACEE": "GRACE", "GRCE": "GRACE", "GARCE": "GRACE", "GRICE": "GRACE", "grace": "GRACE", "Grace": "GRACE",
		"EFFECT": "EFFECTS", "EFFECT_PAUSED": "EFFECTS_PAUSED", "INTERVALL": "INTERVAL", "INTERVALS": "INTERVAL",
		"jobkinds": "jobKinds", "jobKind": "jobKinds", "nmae": "name", "On": "on", "batch": "batches", "batchs": "batches",
		"batchjob": "batchJobs",
		"":         "", "to": "", "no": "", "x": "", "SPEED": "", "DATABASE": "", "größer": "", "ÄÖÜ": "",
	} {
		got, ok := diag.Nearest(word, known)
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", word, got, ok, want)
		}
	}
	if got := diag.DidYouMean("GRACEE", known); got != "; did you mean GRACE?" {
		t.Error(got)
	}
	if got := diag.DidYouMean("COLOUR", known); got != "" {
		t.Error(got)
	}
	if got, ok := diag.Nearest[string]("GRACE", nil); ok {
		t.Error(got)
	}
}

// TestOneOf: words to choose from read like a sentence.
func TestOneOf(t *testing.T) {
	t.Parallel()
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := diag.OneOf(words); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

// TestDuration: a text that is no duration is repeated, with how to write one.
func TestDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"soon":                  `"soon" is not a duration; write 90s, 5m or 6h`,
		"5":                     `"5" is not a duration; write 90s, 5m or 6h`,
		"14d":                   `"14d" is not a duration; a day is 24h: write 336h`,
		"-1d":                   `"-1d" is not a duration; write 90s, 5m or 6h`,
		"99999999999999999999d": `"99999999999999999999d" is not a duration; write 90s, 5m or 6h`,
		"a\nb":                  `"a\nb" is not a duration; write 90s, 5m or 6h`,
	} {
		if got := diag.Duration(text).Error(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
