package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1" // the encoding/json of Go 1.27, which takes half as long

	"github.com/opledger/opledger/shared/gemini/api"
)

// An Item is the result of one request: either a Response or an Error.
type Item struct {
	// Index is the item's position in the result as it came this time, from 0.
	Index int64
	// Key is the submitter's key for the request: printable text of at most 256 bytes. It is empty
	// where there is none that can be read, unless the Reader names such items.
	Key string
	// Submitted is the submitter's key as it came, which may hold any text; a number is its digits. Only
	// the first 4 KiB are kept. It is empty where there is none that can be read. Halves of surrogate
	// pairs and bytes that are not UTF-8 are U+FFFD, so that a key with it identifies nothing [K4].
	Submitted string
	// Repeated: an item before it had the same key.
	Repeated bool
	// Response and Error are JSON as Gemini sent it. For an item that cannot be used, Error is this
	// package's: {"message": …}.
	Response json.RawMessage
	Error    json.RawMessage
}

// MaxItemBytes is the largest size of one item. A larger line of a file becomes an item with an
// Error.
const MaxItemBytes = api.MaxValueBytes

// maxSubmittedBytes bounds Item.Submitted. It is far more than a job takes for a key.
const maxSubmittedBytes = 4 << 10

// maxKeyBytes keeps a key short enough for an idempotency key, which is sent in a header.
const maxKeyBytes = 256

// A wire is an item as Gemini writes it: a file's line has key, an inline item has the key in
// metadata.
type wire struct {
	wireKey
	Response json.RawMessage `json:"response"`
	Error    json.RawMessage `json:"error"`
}

// A wireKey is the part of an item that is decoded when the item is skipped.
type wireKey struct {
	Key      json.RawMessage `json:"key"`
	Metadata json.RawMessage `json:"metadata"`
}

// parse decodes an item. Its Key is the submitter's, or empty.
func parse(text []byte) Item {
	var w wire
	if jsonv1.Unmarshal(text, &w) != nil {
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

// parseKey returns the Key that parse would.
func parseKey(text []byte) string {
	var w wireKey
	if jsonv1.Unmarshal(text, &w) != nil {
		return ""
	}
	return w.submitted()
}

func present(value []byte) bool { return len(value) > 0 && !bytes.Equal(value, []byte("null")) }

// problem returns the item in place of one that cannot be used.
func problem(why string) Item {
	text, err := json.Marshal(map[string]string{"message": "opledger: the item cannot be used: " + why})
	if err != nil {
		panic(err) // cannot happen for a map of texts
	}
	return Item{Error: text}
}

// submitted returns the first of the keys that is a text or a number.
func (w wireKey) submitted() string {
	if key := keyOf(w.Key); key != "" || len(w.Metadata) == 0 {
		return key
	}
	var metadata struct {
		Key json.RawMessage `json:"key"`
	}
	_ = jsonv1.Unmarshal(w.Metadata, &metadata) // no object: no key
	return keyOf(metadata.Key)
}

// keyOf returns a text, or a number as its digits; empty where it is neither.
func keyOf(value []byte) string {
	switch {
	case len(value) == 0:
		return ""
	case value[0] == '"':
		text, _ := jsontext.AppendUnquote(nil, value) // it is valid, but perhaps for bytes that are not UTF-8
		return string(text)
	case value[0] == '-' || '0' <= value[0] && value[0] <= '9':
		return string(value)
	default:
		return ""
	}
}

// keyAtBeginning returns the Key of an item of whose text only the beginning is there; empty unless it
// is its first member, as Gemini writes it.
func keyAtBeginning(text []byte) string {
	decoder := jsontext.NewDecoder(bytes.NewReader(text[:min(len(text), 64<<10)]), jsontext.AllowInvalidUTF8(true))
	for _, want := range []string{"{", "key"} {
		if token, err := decoder.ReadToken(); err != nil || token.String() != want {
			return ""
		}
	}
	value, _ := decoder.ReadValue() // cut off: no key
	return keyOf(value)
}

// readable returns a key unchanged, unless it is long or has unprintable characters: then cut, with
// a hash of the whole.
func readable(key string) string {
	unprintable := func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }
	if len(key) <= maxKeyBytes && utf8.ValidString(key) && !strings.ContainsFunc(key, unprintable) &&
		strings.TrimSpace(key) == key {
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
