package operation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// A TraceParent is the trace context in which an operation was submitted, as the header traceparent of W3C Trace
// Context has it: 00-TRACE-SPAN-FLAGS. Empty: there is none. JSON and flags that have a malformed one have none.
type TraceParent string

var traceParentPattern = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$`)

// ParseTraceParent returns the trace context that a text has, empty where it is malformed: then the standard asks
// to go on as without one. Of a later version of the standard it returns what version 00 has.
func ParseTraceParent(text string) TraceParent {
	parts := traceParentPattern.FindStringSubmatch(text)
	if parts == nil || parts[1] == "ff" || parts[1] == "00" && parts[5] != "" ||
		strings.Trim(parts[2], "0") == "" || strings.Trim(parts[3], "0") == "" {
		return ""
	}
	return TraceParent("00-" + parts[2] + "-" + parts[3] + "-" + parts[4])
}

// UnmarshalText reads a trace context; one that is malformed is none.
func (t *TraceParent) UnmarshalText(text []byte) error {
	*t = ParseTraceParent(string(text))
	return nil
}

// Trace returns the id of the trace, 32 hexadecimal digits; empty where there is none.
func (t TraceParent) Trace() string {
	if ParseTraceParent(string(t)) == "" {
		return ""
	}
	return string(t[3:35])
}

// Child returns the context for a request that an attempt at an effect sends: the same trace, with a span of its own,
// which the effect's idempotency key and the attempt's fencing token determine. Empty where t has no trace.
func (t TraceParent) Child(idempotencyKey string, fence int64) TraceParent {
	if t.Trace() == "" {
		return ""
	}
	span := sha256.Sum256(fmt.Appendf(nil, "%s %d", idempotencyKey, fence))
	return t[:36] + TraceParent(hex.EncodeToString(span[:8])) + t[52:]
}
