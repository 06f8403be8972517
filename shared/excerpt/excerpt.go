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

// WithoutKey takes an API key out of text, which a server or a library may repeat. A key that is too short to be one is left
// alone: a placeholder would take letters out of every word.
func WithoutKey(text, key string) string {
	const shortest = 8
	if len(key) < shortest {
		return text
	}
	return strings.ReplaceAll(text, key, "[API key]")
}

// Quote cuts text and makes it safe to print within a line.
func Quote(text string, limit int) string { return fmt.Sprintf("%q", Cut(text, limit)) }
