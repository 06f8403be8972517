package files_test

import (
	"encoding/json"
	"strings"
	"testing"

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
		got, err := line.AppendTo([]byte("before\n"))
		if err != nil || string(got) != "before\n"+want+"\n" {
			t.Errorf("%s, %v, want %s", got, err, want)
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

// TestLineKeys: a key is written as encoding/json writes it.
func TestLineKeys(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "a b~!", "<", ">", "&", "ü", "\x7f", "\x1f", `\`, "\u2028", "\xff"} {
		want, err := json.Marshal(key)
		if err != nil {
			t.Fatal(err)
		}
		got, err := files.Line{Key: key, Outcome: job.OutcomeDone}.AppendTo(nil)
		if err != nil || !strings.HasPrefix(string(got), `{"key":`+string(want)+",") {
			t.Errorf("%q is written as %s, %v", key, got, err)
		}
	}
}
