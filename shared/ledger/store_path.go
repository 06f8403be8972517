package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/operation"
)

// A Path names a document: collections and ids, alternating, as in
// "operations/batches:abc123/effects/publish".
type Path string

// Child returns the path of a document under p. id is escaped.
func (p Path) Child(collection, id string) Path {
	return p + "/" + Path(collection) + "/" + Path(escapeID(id))
}

// Collection returns the last collection word of the path.
func (p Path) Collection() string {
	parent := string(p[:max(strings.LastIndexByte(string(p), '/'), 0)])
	return parent[strings.LastIndexByte(parent, '/')+1:]
}

// Parent returns the document that p is directly under, or "" where there is none.
func (p Path) Parent() Path {
	for range 2 {
		p = p[:max(strings.LastIndexByte(string(p), '/'), 0)]
	}
	return p
}

// Compare is negative where p is before other in the order of a query's ties: segment by segment. As
// texts "a-b/x" would be before "a/x".
func (p Path) Compare(other Path) int {
	return slices.Compare(strings.Split(string(p), "/"), strings.Split(string(other), "/"))
}

// The collections.
const (
	OperationsCollection = "operations"
	DeliveriesCollection = "deliveries" // under an operation
	EffectsCollection    = "effects"    // under an operation
	ItemsCollection      = "items"      // under an effect
	IntentsCollection    = "intents"
	QuarantineCollection = "quarantine"
	PartsCollection      = "parts" // under a quarantined delivery, or a job
	PassesCollection     = "passes"
	JobsCollection       = "jobs"
	SettingsCollection   = "settings"
)

// OperationPath returns the path of an operation's record.
func OperationPath(key operation.Key) Path { return rootPath(OperationsCollection, string(key)) }

// EffectPath returns the path of a side effect of an operation.
func EffectPath(key operation.Key, effect string) Path {
	return OperationPath(key).Child(EffectsCollection, effect)
}

// ItemPath returns the path of one item of a side effect.
func ItemPath(key operation.Key, effect, item string) Path {
	return EffectPath(key, effect).Child(ItemsCollection, item)
}

// ResultPath returns the path of one item's result, in a collection of the user's choice.
func ResultPath(collection string, key operation.Key, item string) Path {
	return rootPath(collection, string(key)+"/"+item)
}

// deliveryPath returns the path of a delivery. A webhook's sender chooses the id, and it is not
// always signed, so it is kept apart from reconciliation's ids. Otherwise a forged delivery could
// make a later look-up a duplicate.
func deliveryPath(key operation.Key, source operation.Source, id string) Path {
	const made, apart = "reconcile-", "webhook-"
	if source != operation.Reconcile && (strings.HasPrefix(id, made) || strings.HasPrefix(id, apart)) {
		id = apart + id // also an id that begins so already, so that no two ids become one
	}
	return OperationPath(key).Child(DeliveriesCollection, id)
}

func intentPath(correlationID string) Path { return rootPath(IntentsCollection, correlationID) }

func quarantinePath(id string) Path { return rootPath(QuarantineCollection, id) }

func rootPath(collection, id string) Path {
	return Path(collection) + "/" + Path(escapeID(id))
}

// maxIDBytes keeps a path with two escaped ids far below the stores' limit for one id (1,500
// bytes).
const maxIDBytes = 500

// escapeID makes any text a document id, and different texts different ids. Providers and attackers
// choose the texts; operators read the ids. So usual ones stay readable: only the slash becomes a
// colon. An id that would be too long ends in a hash of the whole text.
func escapeID(text string) string {
	var b strings.Builder
	b.Grow(len(text)) // which most ids need
	reserved := text == "." || text == ".." || strings.HasPrefix(text, "__") || text == ""
	if reserved {
		b.WriteString("%_") // no other escape begins so, and what follows is no reserved id
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '/':
			b.WriteByte(':')
		case r == '%' || r == ':' || r < ' ' || r == 0x7f || r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "%%%02X", text[i])
		default:
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	if b.Len() <= maxIDBytes {
		return b.String()
	}
	sum := sha256.Sum256([]byte(text))
	const hashMark = "%~" // no escape of a short text has it, so a hashed id equals none
	short := b.String()[:maxIDBytes-len(hashMark)-hex.EncodedLen(len(sum))]
	for !utf8.ValidString(short) {
		short = short[:len(short)-1]
	}
	return short + hashMark + hex.EncodeToString(sum[:])
}
