package trust

import (
	"regexp"
	"strings"

	"github.com/opledger/opledger/shared/gemini"
)

// A Body reads a delivery's body whole, as it was received. Called again it returns the same.
type Body func() ([]byte, error)

// The bounds on headers, so that strangers cannot make us work much. Real ones have less than a
// tenth.
const (
	maxIDBytes = 1 << 10
	// maxSignatureBytes has room for a token and 80 static signatures.
	maxSignatureBytes = maxTokenBytes + 4<<10
)

// size is the length of texts together, in bytes.
func size(texts []string) int {
	n := 0
	for _, text := range texts {
		n += len(text)
	}
	return n
}

// offered says what signature headers hold: whether there are static signatures, and a token where
// there is exactly one other entry and it has a token's three parts.
func offered(values []string) (static bool, token string) {
	others := 0
	for _, value := range values {
		for entry := range strings.SplitSeq(value, " ") {
			if strings.HasPrefix(entry, "v1,") {
				static = true
				continue
			}
			others++
			token = entry
		}
	}
	if others != 1 || strings.Count(token, ".") != 2 {
		token = ""
	}
	return static, token
}

// ambiguous reports whether "{id}.{timestamp}.{body}", which is what a static signature covers, can
// be divided in another place. Such a signature proves neither reading.
//
// An id that ends in a dot and a timestamp can lose both: the rest is an id, and the timestamp
// another. An id that holds a brace reaches into a body. A body that begins with the end of an id,
// a timestamp and a dot is what such a division leaves.
func ambiguous(id string, body []byte) bool {
	if i := strings.LastIndexByte(id, '.'); i >= 0 {
		if _, isTime := gemini.ParseTimestamp(id[i+1:]); isTime {
			return true
		}
	}
	return strings.Contains(id, "{") || divided.Match(body[:min(len(body), 2*maxIDBytes)])
}

// divided is what stands before the first brace of a body that was cut out of a signed text.
// Timestamps have had 10 digits since 2001.
var divided = regexp.MustCompile(`^([^{]*\.)?[0-9]{10,}\.`)
