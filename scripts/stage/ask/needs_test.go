package main

import (
	"strings"
	"testing"
)

// TestNeeds: exactly the functions that use the API key with these settings are listed.
func TestNeeds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about string
		set   []string
		want  string
	}{
		{"by default", nil, "reconcile"},
		{"tokens are believed, as hints", []string{"OPLEDGER_WEBHOOK_AUDIENCE=a"}, "webhook reconcile"},
		{"tokens are believed without asking", []string{"OPLEDGER_WEBHOOK_AUDIENCE=a", "OPLEDGER_CONFIRM=never"},
			"reconcile"},
		{"every delivery is confirmed", []string{"OPLEDGER_CONFIRM=always"}, "webhook reconcile"},
		{"an effect for each item, asked with a key", []string{
			"GEMINI_API_KEY=k", "OPLEDGER_EFFECTS=[{name: a, on: [SUCCEEDED], do: log, each: item}]",
		}, "reconcile effects"},
		{"an effect that writes results", []string{
			"OPLEDGER_EFFECTS=[{name: a, on: [SUCCEEDED], do: results, bucket: gs://my-results}]",
		}, "reconcile effects"},
		{"jobs", []string{"OPLEDGER_JOB_STORAGE=gs://my-jobs"}, "reconcile effects"},
		{"secrets of effects, each once", []string{"OPLEDGER_EFFECTS=[{name: a, on: [SUCCEEDED], do: http, urlSecret: " +
			"projects/p/secrets/u, tokenSecret: projects/p/secrets/t}, {name: b, on: [FAILED], do: http, urlSecret: " +
			"projects/p/secrets/u, headerSecrets: {X-A: \"env:A\", X-B: projects/q/secrets/b}}]"},
			"reconcile secret projects/p/secrets/t secret projects/p/secrets/u secret projects/q/secrets/b"},
		{"other effects", []string{"OPLEDGER_EFFECTS=[{name: a, on: [SUCCEEDED], do: log}]", "GEMINI_API_KEY=k"},
			"reconcile"},
	} {
		var out strings.Builder
		if err := needs(c.set, &out); err != nil || strings.Join(strings.Fields(out.String()), " ") != c.want {
			t.Errorf("%s: %q, %v, want %q", c.about, out.String(), err, c.want)
		}
	}
	var out strings.Builder
	if err := needs([]string{"OPLEDGER_CONFIRM=sometimes"}, &out); err == nil || !strings.Contains(err.Error(),
		"OPLEDGER_CONFIRM") || out.Len() > 0 {
		t.Errorf("%v, printed %q", err, out.String())
	}
}

// TestMasked: the effects are printed without what looks like a secret; where there are none, nothing is.
func TestMasked(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"OPLEDGER_EFFECTS=- url: https://example.com/?key=hunter2": "- url: https://example.com/?key=masked", "A=b": "",
	} {
		var out strings.Builder
		if err := masked([]string{"PATH=/bin", set}, &out); err != nil || out.String() != want {
			t.Errorf("%q, %v, want %q", out.String(), err, want)
		}
	}
}
