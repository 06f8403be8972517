package trust

import (
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini"
)

// A Body returns a delivery's whole body as it was received. Further calls return the same.
type Body func() ([]byte, error)

// The bounds on headers, so that unverified callers cost little. Real headers have less than a
// tenth.
const (
	maxIDBytes = 1 << 10
	// maxSignatureBytes has room for a token and 80 static signatures.
	maxSignatureBytes = maxTokenBytes + 4<<10
)

// offered reports whether signature headers have static signatures. token is the only other entry,
// if it has the three parts of a token.
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

// ambiguous reports whether "{id}.{timestamp}.{body}", which a static signature covers, can be
// divided in another place. Such a signature proves neither reading.
//
// An id that ends in a dot and a timestamp can lose both: the rest is another id with another
// timestamp. An id with a brace reaches into a body. A body that begins with the end of an id, a
// timestamp and a dot is the rest of such a division.
func ambiguous(id string, body []byte) bool {
	if i := strings.LastIndexByte(id, '.'); i >= 0 {
		if _, isTime := gemini.ParseTimestamp(id[i+1:]); isTime {
			return true
		}
	}
	return strings.Contains(id, "{") || divided().Match(body[:min(len(body), 2*maxIDBytes)])
}

// divided matches what is before the first brace of a body that was cut out of a signed text.
// Timestamps have had 10 digits since 2001.
var divided = diag.Pattern(`^([^{]*\.)?[0-9]{10,}\.`)
