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
	registration := func(body string) error {
		return register.ParseRequest([]byte(body), time.Now())
	}
	job := func(body string) error {
		_, err := register.ParseJobRequest("jobs/a", []byte(body), "file:///jobs", time.Time{}, nil)
		return err
	}
	for name, c := range map[string]struct {
		body  string
		parse func(string) error
	}{
		"unknown fields":    {`{` + members.String() + `"name":"batches/a"}`, registration},
		"metadata":          {`{"name":"batches/a","metadata":{` + members.String() + `"a":1}}`, registration},
		"a field":           {`{"name":{` + members.String() + `"a":1}}`, registration},
		"an input":          {`{"model":"m","input":{` + members.String() + `"a":1}}`, job},
		"options":           {`{"model":"m",` + members.String() + `"a":1}`, job},
		"outcomes to retry": {`{"model":"m","retryOn":["x"` + strings.Repeat(`,""`, httpfunc.MaxBody/3-20) + `]}`, job},
		"metadata of a job": {`{"model":"m","metadata":{` + members.String() + `"a":1}}`, job},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := c.parse(c.body)
		runtime.ReadMemStats(&after)
		if err == nil || len(err.Error()) > 8<<10 {
			t.Errorf("%s: an error of %d bytes", name, len(fmt.Sprint(err)))
		}
		if spent := (after.TotalAlloc - before.TotalAlloc) / httpfunc.MaxBody; spent > mostMemory {
			t.Errorf("%s: it takes %d times the body", name, spent)
		}
	}
}
