package operation

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxNameBytes bounds a resource name. Real names have fewer than 200 bytes; the bound keeps a record that carries its
// name far from the store's document limit.
const MaxNameBytes = 1024

// A Collection is the word before the id in a canonical key, in the one spelling that keys use.
type Collection string

// The collections that hold operations [K2].
const (
	Operations          Collection = "operations"
	Batches             Collection = "batches"
	BatchJobs           Collection = "batchJobs"
	BatchPredictionJobs Collection = "batchPredictionJobs"
	Interactions        Collection = "interactions"
)

// Collections returns every collection that a key may begin with.
func Collections() []Collection {
	return []Collection{Operations, Batches, BatchJobs, BatchPredictionJobs, Interactions}
}

// ParseCollection finds the collection that word spells in any case. The second result is false for any other word.
func ParseCollection(word string) (Collection, bool) {
	for _, c := range Collections() {
		if strings.EqualFold(word, string(c)) {
			return c, true
		}
	}
	return "", false
}

// A Key is the canonical identity of an operation: collection and id, as in "batches/abc123". A name that fits no
// collection is its own key. Two names of one operation have the same key, and nothing that varies over time is ever in
// it [K1, K2].
type Key string

// Collection returns the key's collection, or "" where the name fitted none.
func (k Key) Collection() Collection {
	word, _, _ := strings.Cut(string(k), "/")
	if c := Collection(word); c != "" && string(k) != word {
		if known, ok := ParseCollection(word); ok && known == c {
			return c
		}
	}
	return ""
}

// ID returns the part of the key after the collection, in the case it was given; the whole key where there is no
// collection.
func (k Key) ID() string {
	if c := k.Collection(); c != "" {
		return strings.TrimPrefix(string(k), string(c)+"/")
	}
	return string(k)
}

// A Name is a resource name as somebody gave it, with the key that it stands for.
type Name struct {
	Key Key
	// Resource is the name to ask the API with: as given, without white space around it, trailing slashes or an API URL
	// in front [K5].
	Resource string
}

// ErrName is wrapped by every error of ParseName.
var ErrName = errors.New("not an operation's name")

// ParseName finds the key in any representation of an operation's name [K1]: white space around it, trailing slashes, a
// project, location or model in front, an API URL, and any case of the collection word are all the same operation; the id
// keeps its case. A bare id takes fallback as its collection, where fallback is not empty [K2]. A name that fits nothing is
// kept whole, trimmed. The error wraps ErrName and is for a name that is empty, longer than MaxNameBytes, or not printable
// text; trying again does not help.
func ParseName(raw string, fallback Collection) (Name, error) {
	resource := trim(raw)
	if u, err := url.Parse(resource); err == nil && u.Scheme != "" && u.Host != "" {
		resource = strings.Trim(u.Path, "/")
		if first, rest, ok := strings.Cut(resource, "/"); ok && isAPIVersion(first) {
			resource = rest
		}
	}
	resource = trim(resource)
	switch {
	case resource == "":
		return Name{}, fmt.Errorf("%w: it is empty", ErrName)
	case len(resource) > MaxNameBytes:
		return Name{}, fmt.Errorf("%w: %d bytes are more than the %d allowed", ErrName, len(resource), MaxNameBytes)
	case !utf8.ValidString(resource) || strings.ContainsFunc(resource, unicode.IsControl):
		return Name{}, fmt.Errorf("%w: %q has bytes that are not printable text", ErrName, resource)
	}
	segments := strings.FieldsFunc(resource, func(r rune) bool { return r == '/' })
	if n := len(segments); n >= 2 {
		if c, ok := ParseCollection(segments[n-2]); ok {
			return Name{Key: keyOf(c, segments[n-1]), Resource: resource}, nil
		}
	} else if n == 1 && fallback != "" && segments[0] == resource {
		return Name{Key: keyOf(fallback, resource), Resource: resource}, nil
	}
	return Name{Key: Key(resource), Resource: resource}, nil
}

// trim cuts the white space around a name and the slashes behind it, however the two alternate.
func trim(name string) string {
	return strings.TrimRightFunc(strings.TrimSpace(name), func(r rune) bool { return r == '/' || unicode.IsSpace(r) })
}

func keyOf(c Collection, id string) Key {
	return Key(string(c) + "/" + strings.TrimSpace(id))
}

// isAPIVersion tells "v1", "v1beta" and "v1alpha2" from a collection.
func isAPIVersion(segment string) bool {
	return len(segment) >= 2 && segment[0] == 'v' && segment[1] >= '0' && segment[1] <= '9'
}

// IdempotencyKey names one run of a side effect to whoever receives it: the same for every attempt, and of the side
// effect's own granularity [K4]. effect is a rule's name, or such a name with "@nonce" for a run of its own.
func IdempotencyKey(k Key, effect string) string {
	return "gemini:" + string(k) + "#" + effect
}

// ItemIdempotencyKey is IdempotencyKey for one item of a batch result [K4].
func ItemIdempotencyKey(k Key, effect, item string) string {
	return IdempotencyKey(k, effect) + "/items/" + item
}
