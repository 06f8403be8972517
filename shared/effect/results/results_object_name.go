package results

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

const maxSegment = 200 // bytes that stay as they are

// objectName returns the name of the object of an effect, behind the prefix. It depends on the operation and the run of
// the effect alone: every attempt has the same, and a rerun has its own.
func objectName(key operation.Key, effect string) string {
	return path.Join(string(key.Collection()), segment(key.ID()), segment(effect)+".jsonl")
}

var safeSegment = diag.Pattern(`^[A-Za-z0-9_-][A-Za-z0-9._@-]*$`)

// segment turns any text into a part of an object's name, so that different texts have different
// parts. A text that is long, or holds what not every tool accepts in a name, ends in a hash of the
// whole.
func segment(text string) string {
	if safeSegment().MatchString(text) && len(text) <= maxSegment {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	const longest = 100
	safe := strings.Map(func(r rune) rune {
		if r < 0x80 && safeSegment().MatchString(string(r)) {
			return r
		}
		return '_'
	}, text[:min(len(text), longest)])
	return safe + "~" + hex.EncodeToString(sum[:]) // no text that stays as it is has a ~
}
