package register_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/shared/httpfunc"
)

// TestParseMemory: reading any body of the largest size takes a small multiple of its bytes, garbage
// included, and no longer answer than a sender can read [W7].
func TestParseMemory(t *testing.T) {
	var members strings.Builder
	for i := 0; members.Len() < httpfunc.MaxBody-200; i++ {
		fmt.Fprintf(&members, `"%x":1,`, i)
	}
	for name, body := range map[string]string{
		"unknown fields": `{` + members.String() + `"name":"batches/a"}`,
		"metadata":       `{"name":"batches/a","metadata":{` + members.String() + `"a":1}}`,
		"a field":        `{"name":{` + members.String() + `"a":1}}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := register.Parse([]byte(body), time.Now())
		runtime.ReadMemStats(&after)
		if err == nil || len(err.Error()) > 8<<10 {
			t.Errorf("%s: an error of %d bytes", name, len(fmt.Sprint(err)))
		}
		if spent := (after.TotalAlloc - before.TotalAlloc) / httpfunc.MaxBody; spent > mostMemory {
			t.Errorf("%s: it takes %d times the body", name, spent)
		}
	}
}
