// Package excerpt bounds texts that strangers wrote, before they are printed, logged or stored.
package excerpt

import (
	"fmt"
	"strings"
)

// Cut shortens text to at most limit bytes, never within a character, and shows that it did. What is not UTF-8 in it is
// replaced: Firestore refuses it, and would do so at each retry.
func Cut(text string, limit int) string {
	const mark = "…"
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit-len(mark)], "") + mark
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// Quote cuts text and makes it safe to print within a line.
func Quote(text string, limit int) string { return fmt.Sprintf("%q", Cut(text, limit)) }
