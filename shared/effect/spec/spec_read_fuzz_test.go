package spec_test

import (
	"testing"

	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/operation"
)

// FuzzParseSpecs: no text makes ParseSpecs panic, run for long, or return nothing at all.
func FuzzParseSpecs(f *testing.F) {
	f.Add("- &a {name: a, on: &s [SUCCEEDED], do: http, url: \"https://x\", timeout: 5s}\n- {<<: [*a, {each: item}], " +
		"on: *s}")
	f.Add("[{name: a, on: [FAILED], do: results, bucket: gs://b, permanent: [404], concurrency: 0x10}]")
	f.Add("&x [*x, {<<: *x}, !!str 5, ~, {? [a] : b}, {*x : y}]")
	f.Add("- |\n  text\n- name: >-\n    a\n...\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		specs, err := kinds.ParseSpecs([]byte(text), operation.Transitions{})
		if len(specs) == 0 && err == nil {
			t.Errorf("%q: neither specs nor an error", text)
		}
	})
}
