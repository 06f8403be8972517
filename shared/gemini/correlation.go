package gemini

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/operation"
)

// CorrelationKey is the key in a job's user metadata under which a submitter puts its own id for
// the operation. Events carry the metadata back, so an event finds its operation even where its
// name has an unexpected form [K6].
const CorrelationKey = "opledger_correlation_id"

const (
	// maxCorrelation bounds the id in an event, in bytes. No submitter of ours makes a longer one.
	maxCorrelation = 256
	// maxCorrelationDepth bounds how deep the metadata may stand, in objects and lists.
	maxCorrelationDepth = 64
)

// CorrelationOf finds the submitter's own id in a JSON object: an event's body, or the claims of a
// token that carries the event. Gemini does not document where the user metadata stands, so it
// looks everywhere [K6]: in user_metadata (or userMetadata) of data, then of the object itself,
// then in every object at whatever depth, the shallower first and then in the order of the keys,
// whatever the order in the text. Only a text under CorrelationKey counts, of at most 256 bytes. It
// returns "" where there is none, for bytes that are no JSON object, and where the id is garbled:
// it could be anybody's. What it costs is about what decoding the object costs.
func CorrelationOf(claims json.RawMessage) string {
	if id := findCorrelation(claims); !operation.Garbled(id) {
		return id
	}
	return ""
}

// findCorrelation returns the id as it was decoded, also where it is garbled.
func findCorrelation(claims json.RawMessage) string {
	var root map[string]any
	if !utf8.Valid(claims) || json.Unmarshal(claims, &root) != nil {
		return "" // U+FFFD for bytes that are not UTF-8 could make one id of two
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

// correlationIn returns the id that stands in metadata itself.
func correlationIn(metadata map[string]any) string {
	id, _ := metadata[CorrelationKey].(string)
	if id = strings.TrimSpace(id); len(id) > maxCorrelation {
		return ""
	}
	return id
}
