package gemini_test

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini"
)

func TestDecodeEventCorrelation(t *testing.T) {
	t.Parallel()
	const metadata = `{"opledger_correlation_id":"c-1","other":"x"}`
	for _, test := range []struct{ name, body, want string }{
		{"in data", `{"type":"batch.succeeded","data":{"id":"x","user_metadata":` + metadata + `}}`, "c-1"},
		{"in data, camel case", `{"type":"batch.succeeded","data":{"id":"x","userMetadata":` + metadata + `}}`, "c-1"},
		{"beside data", `{"type":"batch.succeeded","data":{"id":"x"},"user_metadata":` + metadata + `}`, "c-1"},
		{"beside data, camel case", `{"type":"batch.succeeded","data":{"id":"x"},"userMetadata":` + metadata + `}`, "c-1"},
		{
			"in data's interaction",
			`{"type":"interaction.completed","data":{"id":"x","interaction":{"user_metadata":` + metadata + `}}}`, "c-1",
		},
		{
			"in data's webhook_config",
			`{"type":"interaction.completed","data":{"id":"x","webhook_config":{"userMetadata":` + metadata + `}}}`, "c-1",
		},
		{
			"data before beside",
			`{"type":"batch.succeeded","user_metadata":{"opledger_correlation_id":"c-2"},"data":{"id":"x",` +
				`"user_metadata":` + metadata + `}}`,
			"c-1",
		},
		{
			"beside data before deeper",
			`{"type":"batch.succeeded","user_metadata":` + metadata + `,"data":{"id":"x",` +
				`"a":{"user_metadata":{"opledger_correlation_id":"c-2"}}}}`,
			"c-1",
		},
		{
			"in an object beside data",
			`{"type":"interaction.completed","data":{"id":"x"},"interaction":{"user_metadata":` + metadata + `}}`, "c-1",
		},
		{
			"in a list",
			`{"type":"batch.succeeded","data":{"id":"x","targets":[1,[],{"config":[{"userMetadata":` + metadata + `}]}]}}`,
			"c-1",
		},
		{"twenty deep", `{"type":"batch.succeeded","data":{"id":"x","x":` + nested(20, metadata) + `}}`, "c-1"},
		{"under another name", `{"type":"batch.succeeded","data":{"id":"x","labels":` + metadata + `}}`, "c-1"},
		{"in data itself", `{"type":"batch.succeeded","data":{"id":"x","opledger_correlation_id":" c-1 "}}`, "c-1"},
		{
			"metadata before any other object",
			`{"type":"batch.succeeded","data":{"id":"x","opledger_correlation_id":"c-2","user_metadata":` + metadata + `}}`,
			"c-1",
		},
		{
			"shallower before deeper",
			`{"type":"batch.succeeded","data":{"id":"x","a":{"b":{"opledger_correlation_id":"c-2"}},"c":` + metadata + `}}`,
			"c-1",
		},
		{
			"past one that is none",
			`{"type":"batch.succeeded","data":{"id":"x","user_metadata":{"opledger_correlation_id":7},"z":` + metadata + `}}`,
			"c-1",
		},
		{"deeper than anything is", `{"type":"batch.succeeded","data":{"id":"x","x":` + nested(80, metadata) + `}}`, ""},
		{
			"first object by key",
			`{"type":"batch.succeeded","data":{"id":"x","b":{"user_metadata":{"opledger_correlation_id":"c-2"}},` +
				`"a":{"user_metadata":` + metadata + `}}}`,
			"c-1",
		},
		{"metadata of others", `{"type":"batch.succeeded","data":{"id":"x","user_metadata":{"other":"x"}}}`, ""},
		{"metadata is a text", `{"type":"batch.succeeded","data":{"id":"x","user_metadata":"c-1"}}`, ""},
		{
			"the id is a number", `{"type":"batch.succeeded","data":{"id":"x","user_metadata":{"opledger_correlation_id":7}}}`,
			"",
		},
		{
			"the id is too long",
			`{"type":"batch.succeeded","data":{"id":"x","user_metadata":{"opledger_correlation_id":"` + strings.Repeat("c",
				257) + `"}}}`,
			"",
		},
		{"none", `{"type":"batch.succeeded","data":{"id":"x"}}`, ""},
	} {
		t.Run("K6 "+test.name, func(t *testing.T) {
			t.Parallel()
			event, err := gemini.DecodeEvent("d", []byte(test.body))
			if err != nil || event.CorrelationID != test.want {
				t.Errorf("got %q, %v; want %q", event.CorrelationID, err, test.want)
			}
		})
	}
}

// nested puts inner n objects deep.
func nested(n int, inner string) string {
	return strings.Repeat(`{"a":`, n) + inner + strings.Repeat("}", n)
}

// TestCorrelationOf: the claims of a token are searched as a body is [K6].
func TestCorrelationOf(t *testing.T) {
	t.Parallel()
	for claims, want := range map[string]string{
		`{"iss":"x","opledger_correlation_id":"c-1"}`:                           "c-1",
		`{"user_metadata":{"opledger_correlation_id":"c-1"}}`:                   "c-1",
		`{"event":{"data":{"userMetadata":{"opledger_correlation_id":"c-1"}}}}`: "c-1",
		`{"sub":"x"}`:                            "",
		`["opledger_correlation_id"]`:            "",
		`{"opledger_correlation_id":"c-1"`:       "",
		"{\"opledger_correlation_id\":\"\xff\"}": "",
		`{"opledger_correlation_id":"c\ud800"}`:  "",
		`null`:                                   "",
		``:                                       "",
		`{"data":[{"opledger_correlation_id":""}]}`: "",
	} {
		if got := gemini.CorrelationOf(json.RawMessage(claims)); got != want {
			t.Errorf("K6: %s: got %q, want %q", claims, got, want)
		}
	}
}

// TestDecodeEventIsCheap: decoding any body of the largest size [W7] costs a small multiple of
// encoding/json, and is never quadratic.
func TestDecodeEventIsCheap(t *testing.T) {
	const size, atMost = 1 << 20, 30
	fill := func(one func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < size-5000; i++ {
			b.WriteString(one(i) + ",")
		}
		return b.String()
	}
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	for name, data := range map[string]string{
		"deepest": `{"x":` + strings.Repeat(`{"user_metadata":`, 4900) + strings.Repeat("[",
			4900) + `"` + strings.Repeat("x", size-100_000) + `"` + strings.Repeat("]", 4900) + strings.Repeat("}", 4900) + `,` +
			`"id":"x"}`,
		"deep and wide": `{` + fill(func(i int) string { return fmt.Sprintf(`"%d":%s`, i, deep) }) + `"id":"x"}`,
		"most keys":     `{` + fill(func(i int) string { return fmt.Sprintf(`"%x":0`, i) }) + `"id":"x"}`,
		"long keys alike": `{` + fill(func(i int) string {
			return fmt.Sprintf(`"%s%d":0`, strings.Repeat("k", 4000),
				i)
		}) + `"id":"x"}`,
		"most objects": `{"x":[` + fill(func(int) string { return `{}` }) + `0],"id":"x"}`,
		"metadata of others": `{"x":[` + fill(func(int) string { return `{"user_metadata":{"opledger_correlation_id":7}}` }) +
			`0],"id":"x"}`,
	} {
		body := []byte(`{"type":"batch.succeeded","data":` + data + `}`)
		if len(body) < size-20_000 || len(body) > size {
			t.Errorf("W7: %s: a body of %d bytes", name, len(body))
		}
		// The shortest of some runs was disturbed least. Both run again only where that may help.
		plain, took := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
		for n := 0; n < 5 && (n < 2 || took > atMost*plain); n++ {
			plain = min(plain, timeOf(t, name, func() error { var v any; return json.Unmarshal(body, &v) }))
			if n == 0 || took > atMost*plain {
				took = min(took, timeOf(t, name, func() error { _, err := gemini.DecodeEvent("d", body); return err }))
			}
		}
		if took > atMost*plain {
			t.Errorf("W7: %s: %v, more than %d times the %v of encoding/json", name, took, atMost, plain)
		}
	}
}

// timeOf returns how much processor time the decoding of the body of that name takes, which other
// processes do not lengthen. No other test runs beside one that is not parallel.
func timeOf(t *testing.T, name string, decode func() error) time.Duration {
	t.Helper()
	runtime.GC() // of what was there before
	began := processorTime(t)
	if err := decode(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return processorTime(t) - began
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
