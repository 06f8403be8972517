package files_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
)

// TestLine: a line is one line of JSON, with what Gemini sent as it came.
func TestLine(t *testing.T) {
	t.Parallel()
	for want, line := range map[string]files.Line{
		`{"key":"k","response":{"a": 1},"outcome":"done","attempts":1,"batch":"batches/b"}`: {
			Key: "k", Response: json.RawMessage(`{"a": 1}`), Outcome: job.OutcomeDone, Attempts: 1, Batch: "batches/b",
		},
		`{"key":"\"\n","error":{"code":3},"outcome":"refused","why":"\"no\"","attempts":2}`: {
			Key: "\"\n", Error: json.RawMessage("{\n\"code\":\n3}"), Outcome: job.OutcomeRefused, Why: `"no"`, Attempts: 2,
		},
		`{"key":"k","error":{"message":"opledger: it has no line"},"outcome":"failed","why":"it has no line","attempts":1}`: {
			Key: "k", Outcome: job.OutcomeFailed, Why: "it has no line", Attempts: 1,
		},
		`{"key":"k","request":{"contents":[]},"outcome":"failed","attempts":0}`: {
			Key: "k", Request: json.RawMessage(`{"contents":[]}`), Outcome: job.OutcomeFailed,
		},
		`{"key":"k","response":{"a":  oops},"outcome":"failed","attempts":0}`: {
			Key: "k", Response: json.RawMessage("{\"a\": \noops}"), Outcome: job.OutcomeFailed,
		},
	} {
		if got := string(line.AppendTo([]byte("before\n"))); got != "before\n"+want+"\n" {
			t.Errorf("%s, want %s", got, want)
		}
		if strings.Contains(want, "oops") {
			continue
		}
		var back files.Line
		if err := json.Unmarshal([]byte(want), &back); err != nil || back.Key != line.Key || back.Outcome != line.Outcome {
			t.Errorf("it reads as %+v, %v", back, err)
		}
	}
}

// TestLineKeys: a key reads as it was, and stays readable; bytes that are not UTF-8 become U+FFFD.
func TestLineKeys(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "a b~!", "<", ">", "&", "ü", "\x7f", "\x1f", `\`, `"`, "\n", "\u2028", "\xff"} {
		got := files.Line{Key: key, Outcome: job.OutcomeDone}.AppendTo(nil)
		var back files.Line
		if err := json.Unmarshal(got, &back); err != nil || back.Key != strings.ToValidUTF8(key, "\uFFFD") {
			t.Errorf("%q is written as %s, which reads as %q, %v", key, got, back.Key, err)
		}
		plain := strings.TrimLeft(key, "a b~!<>&ü") == ""
		if !utf8.Valid(got) || plain && !bytes.HasPrefix(got, []byte(`{"key":"`+key+`",`)) {
			t.Errorf("%q is written as %s", key, got)
		}
	}
}
