package http_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/effect"
	effecthttp "github.com/opledger/opledger/shared/effect/http"
	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// posted returns what an effect with this template posts for a payload.
func posted(t *testing.T, body, payload string) (text string, err error) {
	t.Helper()
	o := receive(t, func(_ http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		text = string(got)
	})
	do := effecthttp.Do{URL: o.URL, Body: body}
	handler, err := do.Handler(spec.Spec{}, o)
	if err != nil {
		return "", err
	}
	_, err = handler.Perform(t.Context(), effect.Task{Lease: ledger.Lease{Payload: []byte(payload)}})
	return text, err
}

// TestBody: each text is escaped for its place, a number is none, and what there is not is empty.
func TestBody(t *testing.T) {
	t.Parallel()
	const payload = `{"operation":"jobs/nightly","state":"FAILED","jobKind":"a\"b",` +
		`"metadata":{"team":"<ü>\n","n":[1,"x"]},"result":{"errorMessage":"line 1\nline \"2\"",` +
		`"outputFile":"gs://b/o","counts":{"total":3,"succeeded":2,"failed":1}},` +
		`"idempotencyKey":"k","item":{"key":"i\\1"},"alert":{"kind":"stuck","detail":"for a day"},` +
		`"job":{"requests":3,"done":2,"refused":1,"batches":4,"rounds":2,"tokens":{"input":5,"output":6,"thinking":7},` +
		`"estimatedCost":1.5,"failedFile":"gs://b/f"}}`
	for body, want := range map[string]string{
		`{"a":"{{.Operation}} {{.Job}} {{.State}} {{.JobKind}}"}`:    `jobs/nightly nightly FAILED a"b`,
		`{"a":"{{.Error}}|{{.OutputFile}}"}`:                         "line 1\nline \"2\"|gs://b/o",
		`{"a":"{{.Total}} {{.Succeeded}} {{.Failed}}"}`:              "3 2 1",
		`{"a":"{{.Done}} {{.Refused}} {{.Invalid}} {{.Truncated}}"}`: "2 1 0 0",
		`{"a":"{{.Batches}} {{.Rounds}} {{.Tokens}}"}`:               "4 2 18",
		`{"a":"{{.Cost}} {{.FailedFile}}"}`:                          "1.5 gs://b/f",
		`{"a":"{{.Alert}}: {{.Detail}}"}`:                            "stuck: for a day",
		`{"a":"{{.Item}} {{.IdempotencyKey}} {{.Token}}"}`:           `i\1 k `,
		`{"a":"{{.Metadata.team}}{{.Metadata.n}}{{.Metadata.x}}"}`:   "<ü>\n[1,\"x\"]",
		`{"a":"{{if eq .State "FAILED"}}bad{{else}}good{{end}}"}`:    "bad",
	} {
		text, err := posted(t, body, payload)
		var got struct{ A string }
		if err == nil {
			err = json.Unmarshal([]byte(text), &got)
		}
		if err != nil || got.A != want {
			t.Errorf("%s posts %s, %v, want %q", body, text, err, want)
		}
	}
	if text, err := posted(t, `{"total":{{.Total}}}`, `{}`); err != nil || text != `{"total":0}` {
		t.Errorf("a number: %s, %v", text, err)
	}
}

// TestBodyRefused: a template with a mistake is refused at the start, with what is wrong.
func TestBodyRefused(t *testing.T) {
	t.Parallel()
	for body, says := range map[string]string{
		`{"text":"{{.Jobb}}"}`:                   "can't evaluate field Jobb",
		`{"text":"{{.Job}"}`:                     "bad character",
		`{"text":{{.Job}}}`:                      "makes no JSON",
		`hello`:                                  "makes no JSON",
		`{"a":"{{if .Alert}}{{.Nope}}{{end}}"}`:  "can't evaluate field Nope",
		`{"a":"{{if .Item}}{{.Other}}{{end}}"}`:  "can't evaluate field Other",
		`{"a":{{if .Error}}{{.Error}}{{end}} 1}`: "makes no JSON",
	} {
		text, err := json.Marshal([]map[string]any{{
			"name": "a", "on": []string{"FAILED"}, "do": "http", "url": "https://example.com", "body": body,
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kinds.ParseSpecs(text, operation.Transitions{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", body, err, says)
		}
	}
	// What only a payload shows ends the effect: no later attempt can do better.
	_, err := posted(t, `{"a":{{if eq .JobKind "x"}}{{.JobKind}}{{else}}1{{end}}}`, `{"jobKind":"x"}`)
	if !effect.IsPermanent(err) || !strings.Contains(err.Error(), "makes no JSON") {
		t.Errorf("%v, want a permanent error", err)
	}
}

// TestDocumentedBodies: what the README has for Slack, Teams and PagerDuty is accepted, and makes what they document.
func TestDocumentedBodies(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	wants := map[string]func(m map[string]any) bool{
		"slack": func(m map[string]any) bool {
			return m["text"] == "nightly FAILED: 2 of 3 done, about $1.50. "+
				"<https://opledger.example/console/operation?key=jobs/nightly|Look>"
		},
		"teams": func(m map[string]any) bool {
			card, ok := m["attachments"].([]any)
			return ok && m["type"] == "message" &&
				card[0].(map[string]any)["contentType"] == "application/vnd.microsoft.card.adaptive"
		},
		"pagerduty": func(m map[string]any) bool {
			about, ok := m["payload"].(map[string]any)
			return ok && m["routing_key"] == "secret" && m["event_action"] == "trigger" && m["dedup_key"] == "k" &&
				about["summary"] != "" && about["source"] == "opledger" && about["severity"] == "error"
		},
	}
	seen := map[string]bool{}
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(readme), -1) {
		specs, err := kinds.ParseSpecs([]byte(block[1]), operation.Transitions{})
		if err != nil {
			t.Fatalf("%s: %v", block[1], err)
		}
		var text []byte
		o := receive(t, func(_ http.ResponseWriter, r *http.Request) { text, _ = io.ReadAll(r.Body) })
		do := *specs[0].Do.(*effecthttp.Do)
		do.URL, do.Secrets.URL = o.URL, spec.Source{}
		o.Read = func(context.Context, spec.Source) (string, error) { return "secret", nil }
		handler, err := do.Handler(specs[0], o)
		if err == nil {
			_, err = handler.Perform(t.Context(), effect.Task{Lease: ledger.Lease{Payload: []byte(
				`{"operation":"jobs/nightly","state":"FAILED","idempotencyKey":"k",` +
					`"job":{"requests":3,"done":2,"estimatedCost":1.5}}`)}})
		}
		var made map[string]any
		if err == nil {
			err = json.Unmarshal(text, &made)
		}
		if err != nil || !wants[specs[0].Name](made) {
			t.Errorf("%s posts %s, %v", specs[0].Name, text, err)
		}
		seen[specs[0].Name] = true
	}
	if names := slices.Sorted(maps.Keys(wants)); len(seen) != len(names) {
		t.Errorf("the README has %v, want %v", seen, names)
	}
}
