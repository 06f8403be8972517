package gemini_test

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini"
)

// TestParseTime: a text that is no time takes nothing from what else is read.
func TestParseTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{"2026-01-22T13:00:00+01:00": noon, "": {}, "soon": {}} {
		if got := gemini.ParseTime(text); !got.Equal(want) {
			t.Errorf("%q: %v", text, got)
		}
	}
}
