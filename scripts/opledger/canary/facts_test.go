package canary

import (
	"strings"
	"testing"
	"time"
)

// TestFacts: what is not as expected is said, and what could not be seen is not called wrong.
func TestFacts(t *testing.T) {
	t.Parallel()
	late := &description{repeated: false, headers: []string{"Webhook-Id", "X-Retry"}, arrivedAt: time.Minute,
		timestampAge: time.Minute}
	first := &description{
		idForm: "…/operations/ID", signature: "token", paths: []string{"data.id text", "type text"},
		claims:  []string{"aud text", "exp number", "user_metadata.opledger_correlation_id text"},
		headers: []string{"Webhook-Id"},
	}
	for _, c := range []struct {
		about string
		s     sight
		want  map[string]string // what was seen, with the verdict
	}{
		{"a token, and a redelivery of another kind", sight{first: first, again: late, ping: []string{}}, map[string]string{
			"keys of the envelope": "otherwise data, type", "form of data.id": "otherwise …/operations/ID",
			"place of the user metadata":                      "otherwise the token's user_metadata",
			"signature of a static webhook":                   "not seen ",
			"claims of a dynamic webhook's token":             "as expected " + strings.Join(first.claims, ", "),
			"a redelivery has the same webhook-id":            "otherwise no",
			"a redelivery has a new webhook-timestamp":        "otherwise no",
			"headers that only a redelivery has":              "new X-Retry",
			"keys of a ping":                                  "new none",
			"headers with the id, the time and the signature": "otherwise webhook-id",
		}},
		{"no redelivery, no ping", sight{first: &description{}}, map[string]string{
			"a redelivery has the same webhook-id": "not seen ", "a redelivery has a new webhook-timestamp": "not seen ",
			"headers that only a redelivery has": "not seen ", "keys of a ping": "not seen ",
			"place of the user metadata": "otherwise nowhere",
		}},
		{"a fresh timestamp", sight{first: first, again: &description{arrivedAt: time.Minute, timestampAge: 0}},
			map[string]string{"a redelivery has a new webhook-timestamp": "as expected yes"}},
	} {
		got := map[string]string{}
		for _, f := range compare(c.s) {
			got[f.What] = f.Verdict + " " + f.Seen
		}
		for what, want := range c.want {
			if got[what] != want {
				t.Errorf("%s: %s: %q, want %q", c.about, what, got[what], want)
			}
		}
	}
}
