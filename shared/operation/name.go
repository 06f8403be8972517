package operation

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxNameBytes bounds a resource name. Real names have fewer than 200 bytes. The bound keeps a
// record far below the store's document limit.
const MaxNameBytes = 1024

// A Collection is the word before the id in a canonical key, in the spelling that keys use.
type Collection string

// The collections that hold operations [K2].
const (
	Operations          Collection = "operations"
	Batches             Collection = "batches"
	BatchJobs           Collection = "batchJobs"
	BatchPredictionJobs Collection = "batchPredictionJobs"
	Interactions        Collection = "interactions"
)

// Collections returns every collection of operations at Gemini.
func Collections() []Collection {
	return []Collection{Operations, Batches, BatchJobs, BatchPredictionJobs, Interactions}
}

// ParseCollection returns the collection that word spells, in any case. The second result is false
// for any other word.
func ParseCollection(word string) (Collection, bool) {
	for _, c := range Collections() {
		if strings.EqualFold(word, string(c)) {
			return c, true
		}
	}
	if strings.EqualFold(word, string(Jobs)) { // not appended: that would allocate, for each name that is read
		return Jobs, true
	}
	return "", false
}

// A Key is the canonical identity of an operation: collection and id, as in "batches/abc123". A
// name that fits no collection is its own key. All names of one operation have the same key, and no
// part of it varies over time [K1, K2].
type Key string

// Collection returns the key's collection, or "" if it has none.
func (k Key) Collection() Collection {
	word, id, _ := strings.Cut(string(k), "/")
	if c, _ := ParseCollection(word); string(c) == word && id != "" && !strings.Contains(id, "/") {
		return c
	}
	return ""
}

// ID returns the part of the key after the collection, in its own case, or the whole key if there
// is no collection.
func (k Key) ID() string {
	if c := k.Collection(); c != "" {
		return strings.TrimPrefix(string(k), string(c)+"/")
	}
	return string(k)
}

// CanaryPrefix begins the id of an operation that `opledger canary` makes up, and the correlation id
// of one that it submits. Gemini issues no id of this form.
const CanaryPrefix = "opledger-canary-"

// IsCanary reports whether a canary made the operation up, so that it cannot exist.
func (k Key) IsCanary() bool { return strings.HasPrefix(k.ID(), CanaryPrefix) }

// A Name is a resource name as a caller gave it, with its key.
type Name struct {
	Key Key
	// Resource is the name for requests to the API: as given, without white space around it, trailing
	// slashes and an API URL in front [K5].
	Resource string
}

// ErrName is wrapped by every error of ParseName.
var ErrName = errors.New("not an operation's name")

// ParseName returns the key of an operation's name in any form [K1]. White space around it,
// trailing slashes, a project, location or model in front, an API URL, and the case of the
// collection word make no difference; the id keeps its case. A bare id gets the collection
// fallback, unless that is empty [K2]. A name that fits nothing is kept whole, trimmed.
//
// The error wraps ErrName. It is for a name that is empty, longer than MaxNameBytes, not printable
// text, or Garbled. A retry does not help.
func ParseName(raw string, fallback Collection) (Name, error) {
	resource := trim(raw)
	path := withoutURL(resource)
	c, id, ok := splitName(path)
	if ok {
		resource = path
	} else {
		c, id, ok = splitName(resource)
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
	if ok {
		return Name{Key: keyOf(c, id), Resource: resource}, nil
	}
	if fallback != "" && !strings.Contains(resource, "/") {
		return Name{Key: keyOf(fallback, resource), Resource: resource}, nil
	}
	return Name{Key: Key(resource), Resource: resource}, nil
}

// Garbled reports whether text is not what its sender wrote. It holds U+FFFD, which decoders put in
// place of bytes that are not UTF-8 and of half a surrogate pair, or such bytes themselves. Two
// different ids may look the same then, so a garbled id identifies nothing [K1].
func Garbled(text string) bool { return strings.ContainsRune(text, utf8.RuneError) }

// splitName returns the collection and the id at the end of a name. The name is trimmed, so that the
// id is not empty.
func splitName(name string) (c Collection, id string, ok bool) {
	segments := strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
	n := len(segments)
	if n < 2 {
		return "", "", false
	}
	c, ok = ParseCollection(segments[n-2])
	return c, strings.TrimSpace(segments[n-1]), ok
}

// withoutURL removes an API's address, version and query from a name that is a URL.
func withoutURL(name string) string {
	if !strings.Contains(name, "://") {
		return name
	}
	u, err := url.Parse(name)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return name
	}
	path := strings.TrimLeft(trim(u.Path), "/")
	if first, rest, _ := strings.Cut(path, "/"); isAPIVersion(first) {
		return rest
	}
	return path
}

// trim removes the white space around a name and the slashes behind it, in any order.
func trim(name string) string {
	return strings.TrimRightFunc(strings.TrimSpace(name), func(r rune) bool { return r == '/' || unicode.IsSpace(r) })
}

func keyOf(c Collection, id string) Key {
	return Key(string(c) + "/" + id)
}

// isAPIVersion reports whether a path segment is a version such as "v1", "v1beta" or "v1alpha2".
func isAPIVersion(segment string) bool {
	return len(segment) >= 2 && segment[0] == 'v' && segment[1] >= '0' && segment[1] <= '9'
}

// IdempotencyKey names one run of a side effect to its receiver. It is the same for every attempt,
// and has the side effect's own granularity [K4]. effect is a rule's name, or such a name with
// "@nonce" for a rerun.
func IdempotencyKey(k Key, effect string) string {
	return "gemini:" + string(k) + "#" + effect
}

// ItemIdempotencyKey is IdempotencyKey for one item of a batch result [K4].
func ItemIdempotencyKey(k Key, effect, item string) string {
	return IdempotencyKey(k, effect) + "/items/" + item
}
