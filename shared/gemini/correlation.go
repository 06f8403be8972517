package gemini

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

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
// CorrelationOf returns "" where there is none, where the bytes are no JSON object, and where the
// id is garbled: it could be another operation's. It costs about as much as decoding the object.
func CorrelationOf(claims json.RawMessage) string {
	if id := findCorrelation(claims); !operation.Garbled(id) {
		return id
	}
	return ""
}

// findCorrelation returns the id as decoded, even if it is garbled.
func findCorrelation(claims json.RawMessage) string {
	var root map[string]any
	if !utf8.Valid(claims) || json.Unmarshal(claims, &root) != nil {
		return "" // invalid UTF-8 decodes to U+FFFD, which could make two ids equal
	}
	data, _ := root["data"].(map[string]any)
	for _, holder := range []map[string]any{data, root} {
		for _, key := range []string{"user_metadata", "userMetadata"} {
			metadata, _ := holder[key].(map[string]any)
			if id := correlationIn(metadata); id != "" {
				return id
			}
		}
	}
	level := []any{root}
	for depth := 0; depth < maxCorrelationDepth && len(level) > 0; depth++ {
		var below []any
		for _, value := range level {
			switch value := value.(type) {
			case map[string]any:
				if id := correlationIn(value); id != "" {
					return id
				}
				for _, key := range slices.Sorted(maps.Keys(value)) {
					below = append(below, value[key])
				}
			case []any:
				below = append(below, value...)
			}
		}
		level = below
	}
	return ""
}

// correlationIn returns the id in metadata itself, not in an object below it.
func correlationIn(metadata map[string]any) string {
	id, _ := metadata[CorrelationKey].(string)
	if id = strings.TrimSpace(id); len(id) > maxCorrelation {
		return ""
	}
	return id
}
