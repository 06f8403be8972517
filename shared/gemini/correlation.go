package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/jsonscan"
	"github.com/opledger/opledger/shared/operation"
)

// CorrelationKey is the key in a job's user metadata that holds the submitter's own id for the
// operation. Events carry the metadata back, so an event finds its operation even where its name
// has an unexpected form [K6].
const CorrelationKey = "opledger_correlation_id"

const (
	// maxCorrelation bounds the id in an event, in bytes. No submitter of ours makes a longer one.
	maxCorrelation = 256
	// maxCorrelationDepth bounds the search for the metadata, in nested objects and lists.
	maxCorrelationDepth = 64
)

// CorrelationOf finds the submitter's own id in a JSON object: an event's body, or the claims of
// the token that came with the event. Google does not document the place of the user metadata, so
// CorrelationOf searches everywhere [K6]. It starts with user_metadata (or userMetadata) of data,
// then of the object itself. Then it takes every nested object, the shallower first, and at one
// depth in the order of the keys. Only a text of at most 256 bytes under CorrelationKey counts.
// CorrelationOf returns "" where there is none, where the bytes are no JSON object, and where the id is
// garbled: it could be another operation's. Of two members of one name the last counts in the user
// metadata; elsewhere an id that a later member of one name shadows is none. It reads the object in
// place, in two passes.
func CorrelationOf(claims json.RawMessage) string {
	if !utf8.Valid(claims) || !json.Valid(claims) { // what is not UTF-8 could make two ids equal
		return ""
	}
	if id := findCorrelation(object(claims)); !operation.Garbled(id) {
		return id
	}
	return ""
}

// findCorrelation returns the id as decoded, even if it is garbled.
func findCorrelation(root object) string {
	for _, holder := range []object{root.object("data"), root} {
		for _, key := range []string{"user_metadata", "userMetadata"} {
			if id := correlationIn(holder.object(key).get(CorrelationKey)); id != "" {
				return id
			}
		}
	}
	if !isObject(root) {
		return ""
	}
	s := search{cursor: jsonscan.New(root), depth: maxCorrelationDepth}
	s.value()
	if s.shadowed {
		return ""
	}
	return s.id
}

// correlationIn returns the id that is the value of a CorrelationKey; "" if it is none.
func correlationIn(value []byte) string {
	id := bytes.TrimSpace(jsonscan.Text(value))
	if len(id) > maxCorrelation {
		return ""
	}
	return string(id)
}

// A search goes through a value once and keeps the id of the first object in the order of
// CorrelationOf. An id is shadowed where a later member has the name of one that holds it: a reader
// that takes the last of two members would not find it there.
type search struct {
	cursor *jsonscan.Cursor
	path   []step // to the value that is being read

	id    string
	found []step // the path to its object
	depth int    // only objects on a shorter path, or on one as long, are of interest

	shadowed bool
}

// A step leads from a value to one below it.
type step struct {
	at    int    // where in the text the value below is
	key   []byte // of a member
	index int    // in a list
}

// value searches the next value, and those below it.
func (s *search) value() {
	if len(s.path) >= maxCorrelationDepth || len(s.path) > s.depth {
		s.cursor.Value()
		return
	}
	below := func(next step) {
		s.cursor.Kind()
		next.at = s.cursor.At()
		s.path = append(s.path, next)
		s.value()
		s.path = s.path[:len(s.path)-1]
	}
	if s.cursor.Kind() == '[' {
		s.cursor.List(func(index int) { below(step{index: index}) })
		return
	}
	s.cursor.Object(func(key []byte) {
		s.shadowed = s.shadowed || s.shadows(key)
		if string(key) != CorrelationKey || s.cursor.Kind() != '"' {
			below(step{key: slices.Clone(key)})
		} else if id := correlationIn(s.cursor.Value()); id != "" && s.isFirst() {
			s.id, s.found, s.depth, s.shadowed = id, slices.Clone(s.path), len(s.path), false
		}
	})
}

// shadows reports whether the id was found in an earlier member of that name.
func (s *search) shadows(key []byte) bool {
	if s.id == "" || len(s.found) < len(s.path) {
		return false
	}
	for i, step := range s.path {
		if step.at != s.found[i].at {
			return false
		}
	}
	if len(s.found) == len(s.path) {
		return string(key) == CorrelationKey
	}
	return bytes.Equal(s.found[len(s.path)].key, key)
}

// isFirst reports whether the object that is being read comes before the one that was found.
func (s *search) isFirst() bool {
	if s.id == "" || len(s.path) < len(s.found) {
		return true
	}
	for i, step := range s.path {
		other := s.found[i]
		if step.at == other.at {
			continue // the same value
		}
		if order := cmp.Or(bytes.Compare(step.key, other.key), cmp.Compare(step.index, other.index)); order != 0 {
			return order < 0
		}
	}
	return true
}
