package gemini_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini"
)

// TestDecodeEventMemory: decoding any body of the largest size takes a small multiple of its bytes,
// garbage included [W7].
func TestDecodeEventMemory(t *testing.T) {
	const size = 1 << 20
	fill := func(one string) string { return strings.Repeat(one+",", (size-200)/(len(one)+1)) }
	names := func(format string) string { // of members that all have another
		var b strings.Builder
		for i := 0; b.Len() < size-200; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, body := range map[string]string{
		"objects":         `{"type":"batch.succeeded","data":{"id":"x","x":[` + fill(`{"a":1}`) + `0]}}`,
		"empty objects":   `{"type":"batch.succeeded","data":{"id":"x","x":[` + fill(`{}`) + `0]}}`,
		"members":         `{` + names(`"%x":1,`) + `"type":"batch.succeeded","data":{"id":"x"}}`,
		"members of data": `{"type":"batch.succeeded","data":{` + names(`"%x":1,`) + `"id":"x"}}`,
		"of the output":   `{"type":"batch.succeeded","data":{"id":"x","output":{` + names(`"%x":1,`) + `"b":1}}}`,
		"of the error":    `{"type":"batch.failed","data":{"id":"x","error":{` + names(`"%x":1,`) + `"b":1}}}`,
		"escaped members": `{"type":"batch.succeeded","data":{` + names(`"\n%x":1,`) + `"id":"x"}}`,
		"texts":           `{"type":"batch.succeeded","data":{"id":"x","x":[` + fill(`"\u00fc"`) + `0]}}`,
		"ids": `{"type":"batch.succeeded","data":{"id":"x","x":[` + fill(`{"opledger_correlation_id":"c"}`) +
			`0]}}`,
		"an id that is shadowed": `{"type":"batch.succeeded","data":{"id":"x","a":{"opledger_correlation_id":"c"},"a":1,` +
			names(`"%x":1,`) + `"b":1}}`,
		"without a name":   `{"type":"batch.succeeded",` + names(`"%x":1,`) + `"data":{` + `"b":1}}`,
		"of an other type": `{"type":"batch.paused","data":{` + names(`"%x":1,`) + `"id":"x"}}`,
	} {
		if len(body) < size-1000 || len(body) > size {
			t.Errorf("%s: a body of %d bytes", name, len(body))
		}
		decode := func(body []byte) { _, _ = gemini.DecodeEvent("d", body) }
		if spent := allocated(decode, []byte(body)); spent > 4*size {
			t.Errorf("W7: %s: DecodeEvent takes %d times the body", name, spent/size)
		}
	}
}

// allocated returns how many bytes a call allocates.
func allocated(decode func([]byte), body []byte) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	decode(body)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
