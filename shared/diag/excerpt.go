package diag

import (
	"fmt"
	"strings"
)

// Cut shortens text to at most limit bytes, never within a character, and marks the cut with "…".
// Bytes that are not UTF-8 are replaced, because Firestore refuses them, at each retry too.
func Cut(text string, limit int) string {
	const mark = "…"
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit-len(mark)], "") + mark
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// Quote returns text quoted, safe within a line, and cut to 80 bytes before the quoting.
func Quote(text string) string { return QuoteUpTo(text, 80) }

// QuoteUpTo is Quote with a limit in bytes.
func QuoteUpTo(text string, limit int) string { return fmt.Sprintf("%q", Cut(text, limit)) }
