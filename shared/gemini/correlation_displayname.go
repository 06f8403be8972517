package gemini

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

const (
	// MaxCorrelationID bounds an id in a display name, in bytes.
	MaxCorrelationID = 100
	// maxDisplayName bounds a display name, in bytes. Google documents no bound for a batch; other
	// resources take 128 characters.
	maxDisplayName = 128
	// correlationMark is put before the id.
	correlationMark = "opledger:"
)

// ErrCorrelationID is wrapped by every error of CheckCorrelationID.
var ErrCorrelationID = errors.New("not a correlation id that a display name can carry")

// CheckCorrelationID returns nil for an id that fits a display name: 1 to MaxCorrelationID bytes of
// printable text without spaces. An operation may be registered under any other id too. Its events
// are then matched by the id, but a listing is not [G6].
func CheckCorrelationID(id string) error {
	odd := func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }
	switch {
	case id == "":
		return fmt.Errorf("%w: it is empty", ErrCorrelationID)
	case len(id) > MaxCorrelationID:
		return fmt.Errorf("%w: %d bytes are more than %d", ErrCorrelationID, len(id), MaxCorrelationID)
	case operation.Garbled(id) || strings.ContainsFunc(id, odd):
		return fmt.Errorf("%w: %s holds a space or an unprintable character", ErrCorrelationID, diag.QuoteUpTo(id, maxQuoted))
	}
	return nil
}

// DisplayName returns the display name for a batch: the user's own name, which may be empty, and
// the id, which a listing returns [G6]. The result has at most 128 bytes: name is cut to fit, the
// id never. An id that CheckCorrelationID refuses is left out.
func DisplayName(name, correlationID string) string {
	name = strings.TrimSpace(strings.ToValidUTF8(name, "\uFFFD"))
	if CheckCorrelationID(correlationID) != nil {
		return diag.Cut(name, maxDisplayName)
	}
	mark := correlationMark + correlationID
	if name == "" {
		return mark
	}
	return diag.Cut(name, maxDisplayName-len(" ")-len(mark)) + " " + mark
}

// CorrelationIn returns the id that DisplayName put into a display name, or "" where there is none.
// The id must be the last word.
func CorrelationIn(displayName string) string {
	words := strings.TrimSpace(displayName)
	id, marked := strings.CutPrefix(words[strings.LastIndexByte(words, ' ')+1:], correlationMark)
	if !marked || CheckCorrelationID(id) != nil {
		return ""
	}
	return id
}
