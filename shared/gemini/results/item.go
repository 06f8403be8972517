package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/gemini/api"
)

// An Item is one request's result: a Response or an Error, never both.
type Item struct {
	// Index is the item's place in the result, from 0.
	Index int64
	// Key is the submitter's own for the request, or what stands for it. It is printable text of at
	// most 256 bytes and no other item of the batch has it.
	Key string
	// Response and Error are Gemini's own words, JSON as it was read. An Error may also be this
	// package's, of an item that cannot be used: {"message": …}.
	Response json.RawMessage
	Error    json.RawMessage
}

// MaxItemBytes is how large one item may be. A larger line of a file becomes an item with an Error.
const MaxItemBytes = api.MaxValueBytes

// maxKeyBytes keeps a key short enough for a header, which idempotency keys travel in.
const maxKeyBytes = 256

// A wire is an item as Gemini writes it: in a file's line with a key, inline with the key in the
// request's metadata.
type wire struct {
	wireKey
	Response json.RawMessage `json:"response"`
	Error    json.RawMessage `json:"error"`
}

// A wireKey is the part of an item that is read of those that are skipped.
type wireKey struct {
	Key      json.RawMessage `json:"key"`
	Metadata json.RawMessage `json:"metadata"`
}

// parse makes an item of its text, with the key as the submitter gave it, empty where there is
// none.
func parse(text []byte) Item {
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return problem("it is not a JSON object")
	}
	item := Item{Key: w.submitted()}
	switch {
	case present(w.Error):
		item.Error = w.Error
	case present(w.Response):
		item.Response = w.Response
	case !present(text):
		return problem("it is null")
	default:
		item.Error = problem("it has neither a response nor an error").Error
	}
	return item
}

// parseKey is parse for an item of which only the key matters; it finds the same.
func parseKey(text []byte) string {
	var w wireKey
	if json.Unmarshal(text, &w) != nil {
		return ""
	}
	return w.submitted()
}

func present(value []byte) bool { return len(value) > 0 && !bytes.Equal(value, []byte("null")) }

// problem is an item that cannot be used.
func problem(why string) Item {
	text, err := json.Marshal(map[string]string{"message": "opledger: the item cannot be used: " + why})
	if err != nil {
		panic(err) // a map of texts always has a form in JSON
	}
	return Item{Error: text}
}

// submitted returns the first of the keys that is a text or a number.
func (w wireKey) submitted() string {
	var metadata struct {
		Key json.RawMessage `json:"key"`
	}
	_ = json.Unmarshal(w.Metadata, &metadata) // no object: no key
	for _, raw := range []json.RawMessage{w.Key, metadata.Key} {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text
		}
		var number json.Number
		if json.Unmarshal(raw, &number) == nil && number != "" {
			return number.String()
		}
	}
	return ""
}

// A namer gives each item a key of its own, in the order of the items. It remembers 16 bytes of
// each.
type namer map[[16]byte]struct{}

// name returns the key of the item at index, whose submitter called it key.
func (n namer) name(key string, index int64) string {
	if key == "" {
		key = fmt.Sprintf("index-%d", index)
	}
	for key = readable(key); !n.add(key); {
		key = readable(fmt.Sprintf("%s~%d", key, index))
	}
	return key
}

// add reports whether nobody had the key before. Two keys with the same 128 bits of SHA-256 do not
// happen.
func (n namer) add(key string) bool {
	sum := sha256.Sum256([]byte(key))
	short := [16]byte(sum[:])
	_, taken := n[short]
	n[short] = struct{}{}
	return !taken
}

// readable returns a key as it is, or cut and with a hash of the whole where it is long or holds
// what cannot be printed.
func readable(key string) string {
	unprintable := func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }
	if len(key) <= maxKeyBytes && utf8.ValidString(key) && !strings.ContainsFunc(key, unprintable) && strings.TrimSpace(key) == key {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	short := strings.Map(func(r rune) rune {
		if unprintable(r) || r == utf8.RuneError {
			return '_'
		}
		return r
	}, key[:min(len(key), maxKeyBytes-1-2*len(sum))])
	return strings.TrimSpace(strings.ToValidUTF8(short, "_")) + "~" + hex.EncodeToString(sum[:])
}
