package commandtest

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// LocalPattern matches a local time with its offset.
const LocalPattern = `\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d`

// WantUTC: every time in JSON is RFC 3339 in UTC.
func WantUTC(t *testing.T, text string) {
	t.Helper()
	times := 0
	for _, match := range regexp.MustCompile(`"(\w+(?:At|Time|Since))": "([^"]*)"`).FindAllStringSubmatch(text, -1) {
		times++
		if _, err := time.Parse(time.RFC3339Nano, match[2]); err != nil || !strings.HasSuffix(match[2], "Z") {
			t.Errorf("%s is %q, not RFC 3339 in UTC", match[1], match[2])
		}
	}
	if times == 0 {
		t.Errorf("no times in %s", text)
	}
}

// OneObject decodes the one JSON object that text must be.
func OneObject(t *testing.T, text string, into any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if decoder.More() || !strings.HasPrefix(text, "{") {
		t.Errorf("not one JSON object: %s", text)
	}
}

// Listed is the output of list --json.
type Listed struct {
	Operations []operation.Record `json:"operations"`
	Next       string             `json:"next"`
}

// Keys are the names of the operations, in their order.
func (l Listed) Keys() (keys []string) {
	for _, r := range l.Operations {
		keys = append(keys, string(r.Key))
	}
	return keys
}

// WantTame checks that nothing printed can command a terminal.
func WantTame(t *testing.T, s Said) {
	t.Helper()
	if strings.ContainsAny(s.Out+s.Err, "\x1b\u009b\r\x07") {
		t.Errorf("%q, %q could command a terminal", s.Out, s.Err)
	}
}
