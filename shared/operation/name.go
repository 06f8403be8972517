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
	word, id, _ := strings.Cut(string(k), "/")
	if c, ok := ParseCollection(word); ok && string(c) == word && id != "" && !strings.Contains(id, "/") {
		return c
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

// A Name is a resource name as a caller gave it, with the key that it stands for.
type Name struct {
	Key Key
	// Resource is the name to ask the API with: as given, without white space around it, trailing slashes or an API URL
	// in front [K5].
	Resource string
}

// ErrName is wrapped by every error of ParseName.
var ErrName = errors.New("not an operation's name")

// ParseName finds the key in any representation of an operation's name [K1]: white space around it, trailing slashes, a
// project, location or model in front, an API URL, and any case of the collection word are all the same operation;
// the id keeps its case. A bare id takes fallback as its collection, where fallback is not empty [K2]. A name that
// fits nothing is kept whole, trimmed. The error wraps ErrName and is for a name that is empty, longer than
// MaxNameBytes, not printable text, or Garbled; trying again does not help.
func ParseName(raw string, fallback Collection) (Name, error) {
	resource := trim(raw)
	if path := withoutURL(resource); path != resource {
		if _, _, ok := splitName(path); ok {
			resource = path
		}
	}
	switch {
	case resource == "":
		return Name{}, fmt.Errorf("%w: it is empty", ErrName)
	case len(resource) > MaxNameBytes:
		return Name{}, fmt.Errorf("%w: %d bytes are more than the %d allowed", ErrName, len(resource), MaxNameBytes)
	case !utf8.ValidString(resource) || strings.ContainsFunc(resource, unicode.IsControl):
		return Name{}, fmt.Errorf("%w: %q has bytes that are not printable text", ErrName, resource)
	case Garbled(resource):
		return Name{}, fmt.Errorf("%w: %+q has U+FFFD in place of what could not be decoded", ErrName, resource)
	}
	if c, id, ok := splitName(resource); ok {
		return Name{Key: keyOf(c, id), Resource: resource}, nil
	}
	if fallback != "" && !strings.Contains(resource, "/") {
		return Name{Key: keyOf(fallback, resource), Resource: resource}, nil
	}
	return Name{Key: Key(resource), Resource: resource}, nil
}

// Garbled reports whether text is not what its sender wrote: it holds U+FFFD, the mark that decoders
// leave for bytes that are not UTF-8 and for half a surrogate pair, or such bytes themselves. Two
// different ids look the same after that, so a garbled id identifies nothing [K1].
func Garbled(text string) bool { return strings.ContainsRune(text, utf8.RuneError) }

// splitName finds the collection and the id that a name ends in, whatever stands in front of them.
func splitName(name string) (c Collection, id string, ok bool) {
	segments := strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
	n := len(segments)
	if n < 2 {
		return "", "", false
	}
	c, ok = ParseCollection(segments[n-2])
	id = strings.TrimSpace(segments[n-1])
	return c, id, ok && id != ""
}

// withoutURL cuts an API's address, version and query from a name that came as a URL.
func withoutURL(name string) string {
	u, err := url.Parse(name)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return name
	}
	path := strings.TrimLeft(trim(u.Path), "/")
	if first, rest, ok := strings.Cut(path, "/"); ok && isAPIVersion(first) {
		return rest
	}
	return path
}

// trim cuts the white space around a name and the slashes behind it, however the two alternate.
func trim(name string) string {
	return strings.TrimRightFunc(strings.TrimSpace(name), func(r rune) bool { return r == '/' || unicode.IsSpace(r) })
}

func keyOf(c Collection, id string) Key {
	return Key(string(c) + "/" + id)
}

// isAPIVersion tells "v1", "v1beta" and "v1alpha2" from a collection.
func isAPIVersion(segment string) bool {
	return len(segment) >= 2 && segment[0] == 'v' && segment[1] >= '0' && segment[1] <= '9'
}

// IdempotencyKey names one run of a side effect to its receiver: the same for every attempt, and of the side
// effect's own granularity [K4]. effect is a rule's name, or such a name with "@nonce" for a run of its own.
func IdempotencyKey(k Key, effect string) string {
	return "gemini:" + string(k) + "#" + effect
}

// ItemIdempotencyKey is IdempotencyKey for one item of a batch result [K4].
func ItemIdempotencyKey(k Key, effect, item string) string {
	return IdempotencyKey(k, effect) + "/items/" + item
}
