package spec_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/effect/http"
	"github.com/opledger/opledger/shared/effect/kinds"
	effectlog "github.com/opledger/opledger/shared/effect/log"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// sameSpecs are texts with one meaning.
var sameSpecs = map[string]string{
	"YAML in blocks": `
- name: publish
  on: [SUCCEEDED]
  jobKinds:
    - batch-*
    - review
  do: http
  url: https://example.com/hook?x=1
  timeout: 5s
  concurrency: 3
  permanent: [404]
- name: alarm   # a remark
  on:
    - FAILED
    - STUCK
    - MISSING
    - EXPIRED
  do: log
`,
	"YAML in one line": `[{name: publish, on: [SUCCEEDED], jobKinds: ["batch-*", review], do: http, url: ` +
		`"https://example.com/hook?x=1", timeout: 5s, concurrency: 3, permanent: [404]}, {name: alarm, on: [STUCK, ` +
		`FAILED, EXPIRED, MISSING], do: log}]`,
	"JSON": `[{"name":"publish","on":["SUCCEEDED"],"jobKinds":["batch-*","review"],"do":"http",` +
		`"url":"https://example.com/hook?x=1","timeout":"5s","concurrency":3,"permanent":[404]},{"name":"alarm",` +
		`"on":["FAILED","EXPIRED","STUCK","MISSING"],"do":"log"}]`,
	"JSON in lines": "[\n\t{\n\t\t\"name\": \"publish\",\n\t\t\"on\": [\"SUCCEEDED\"], \"jobKinds\": " +
		"[\"batch-*\", \"review\"],\n\t\t\"do\": \"http\", \"url\": \"https://example.com/hook?x=1\", \"timeout\": " +
		"\"5s\", \"concurrency\": \"3\", \"permanent\": [404]\n\t},\n\t{\"name\": \"alarm\", \"on\": [\"FAILED\", " +
		"\"STUCK\", \"MISSING\", \"EXPIRED\"], \"do\": \"log\"}\n]\n",
}

// TestParseSpecs: YAML and JSON have the same meaning, and "on" is a key, not the boolean of YAML
// 1.1.
func TestParseSpecs(t *testing.T) {
	t.Parallel()
	want := []spec.Spec{
		{
			Name: "publish", On: []operation.State{operation.Succeeded}, JobKinds: []string{"batch-*", "review"},
			Do:      &http.Do{URL: "https://example.com/hook?x=1", Permanent: []int{404}},
			Timeout: 5 * time.Second, Concurrency: 3,
		},
		{
			Name: "alarm", On: []operation.State{operation.Failed, operation.Expired},
			Alerts: []ledger.Alert{ledger.AlertStuck, ledger.AlertMissing}, Do: &effectlog.Do{},
		},
	}
	for form, text := range sameSpecs {
		got, err := kinds.ParseSpecs([]byte(text), operation.Transitions{})
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, -want +got\n%s", form, diff)
		}
	}
	if got := spec.Concurrency(want); got["publish"] != 3 || got["alarm"] != spec.DefaultConcurrency {
		t.Errorf("concurrency %v", got)
	}
	rules := spec.Rules(want)
	if len(rules) != 2 || rules[0].Name != "publish" || !slices.Equal(rules[0].JobKinds, want[0].JobKinds) ||
		!slices.Equal(rules[1].On, want[1].On) ||
		!slices.Equal(rules[1].Alerts, want[1].Alerts) {
		t.Errorf("rules %+v", rules)
	}
}

// TestSpecProblems: every problem is reported, each with the effect's name.
func TestSpecProblems(t *testing.T) {
	t.Parallel()
	for text, wants := range map[string][]string{
		"":    {"list"},
		"[]":  {"lists no effect"},
		"a":   {"list"},
		"{}":  {"list"},
		"[1]": {"mapping"},
		"[{name: a, on: [FAILED], do: log, to: x}]":                             {"to"},
		"[{name: a, name: b, on: [FAILED], do: log}]":                           {"name"},
		"[{name: a, on: FAILED, do: log}]":                                      {"on"},
		"[{name: a, on: [FAILED], do: log, timeout: 5}]":                        {"timeout"},
		"[{name: a, on: [FAILED], do: http, url: x, timeout: soon}]":            {`"soon"`},
		"[{name: a, on: [FAILED], do: http, url: \"https://x\", timeout: -5s}]": {`"a"`, "timeout"},
		"[{name: a, on: [FAILED], do: mail}, {name: b, on: [FAILED]}, {name: c, on: [FAILED], do: http}, {name: d, do: " +
			"http, url: \"ftp://x\"}, {name: e, do: http, url: /x}]": {
			`effect "a": do must be one of log, http, pubsub, custom, results, not ` +
				`"mail"`, `effect "b": do`, `effect "c"`, `effect "d": url must be`, `effect "e"`,
		},
		"[{name: a, do: http, url: \"hunter2://x\", topic: tttt}, {name: b, do: log, url: \"https://x\", timeout: -1s}, " +
			"{name: c, do: custom, topic: tttt}]": {
			`effect "a": url must be`, `effect "a": topic is for do: pubsub`, `effect "b": url is for do: ` +
				`http`, `effect "b": timeout`,
			`effect "c": topic is for do: pubsub`,
		},
		"[{name: a, do: pubsub}]": {`effect "a": topic must be ` +
			`projects/PROJECT/topics/TOPIC or TOPIC, not ""`},
		"[{name: a, do: pubsub, topic: ab}]":                              {"topic must be"},
		"[{name: a, do: pubsub, topic: projects/p/subscriptions/abc}]":    {"topic must be"},
		"[{name: a, do: pubsub, topic: projects/p/topics/abc/x}]":         {"topic must be"},
		"[{name: a, do: pubsub, topic: \"1abc\"}]":                        {"topic must be"},
		"[{name: a, do: pubsub, topic: completions, url: \"https://x\"}]": {"url is for do: http"},
	} {
		_, err := kinds.ParseSpecs([]byte(text), operation.Transitions{})
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want it to say %s", text, err, want)
			}
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("what may hold a secret is in %v", err)
		}
	}
	for _, topic := range []string{"completions", "projects/my-project/topics/completions",
		"projects/example.com:p/topics/a.b~c+d%25e"} {
		if _, err := kinds.ParseSpecs([]byte("[{name: a, on: [FAILED], do: pubsub, timeout: 5s, topic: \""+topic+"\"}]"),
			operation.Transitions{}); err != nil {
			t.Errorf("%s: %v", topic, err)
		}
	}
}

// TestAlertSpecs: alerts may be listed without states. A word that is neither a state nor an alert
// is reported with all that there are [R4].
func TestAlertSpecs(t *testing.T) {
	t.Parallel()
	for text, wants := range map[string][]string{
		"[{name: page, on: [STUCK, MISSING, DISABLED, UNBOUND], do: log}]": nil,
		"[{name: page, on: [stuck, FAILED, LATE], do: log}]": {
			`"stuck" is neither a state nor an alert`, `"LATE"`, "REQUIRES_ACTION",
			"STUCK, MISSING, DISABLED, UNBOUND or DEADLINE",
		},
		"[{name: page, on: [DISABLED], jobKinds: [a], do: log}]": {"without jobKinds"},
	} {
		_, err := kinds.ParseSpecs([]byte(text), operation.Transitions{})
		if len(wants) == 0 && err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want it to say %s", text, err, want)
			}
		}
	}
}
