package spec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/operation"
)

// problems are the lines of the error of ParseSpecs.
func problems(text string) []string {
	_, err := kinds.ParseSpecs([]byte(text), operation.Transitions{})
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

const (
	notAList  = "it must be a list like [{name: publish, on: [SUCCEEDED], do: log}]"
	theFields = "; the fields are name, do, on, jobKinds, each, unkeyed, timeout, concurrency"
	inFull    = " has one; write each effect in full, and a text that begins with & or * in quotes"
	nameMust  = ": its name must be lower-case letters, digits, - and _, beginning with a letter, at most 63"
	noWord    = " is neither a state nor an alert: it must be PENDING, RUNNING, REQUIRES_ACTION, SUCCEEDED, FAILED, " +
		"CANCELLED, EXPIRED, STUCK, MISSING, DISABLED, UNBOUND or DEADLINE"
)

// mistakes are texts, with the problems that are reported of each.
var mistakes = []struct {
	about, text string
	want        []string
}{
	{"nothing", "", []string{"it lists no effect; leave it unset for the default, which logs every completion"}},
	{"a remark", "# nothing\n---\n", []string{"it lists no effect; leave it unset for the default, which logs every " +
		"completion"}},
	{"an empty list", "[]", []string{"it lists no effect; leave it unset for the default, which logs every completion"}},
	{"a word", "log", []string{notAList}},
	{"a mapping", "name: a\non: [FAILED]\ndo: log\n", []string{notAList}},
	{"two lists", "- {name: a, on: [FAILED], do: log}\n---\n- {name: b, on: [FAILED], do: log}\n",
		[]string{notAList + ", and one list: line 3 begins another document"}},
	{"no YAML", "[{name: a, on: [FAILED], do: log}\n", []string{notAList +
		", in YAML or JSON: line 1: sequence end token ']' not found"}},
	{"a tab", "- name: a\n\ton: [FAILED]\n", []string{notAList +
		", in YAML or JSON: line 2: found character '\t' that cannot start any token"}},
	{"no mappings", "[1, [a], {name: A, do: log}]", []string{
		"effect 1: it must be a mapping like {name: publish, on: [SUCCEEDED], do: log}",
		"effect 2: it must be a mapping like {name: publish, on: [SUCCEEDED], do: log}",
		`effect "A"` + nameMust, `effect "A": it lists no state or alert to run on`,
	}},
	{"no name", "[{name: a, on: [FAILED], do: log}, {on: [FAILED], do: log}, {name: ~, on: [FAILED], do: log}, " +
		"{name: [b], on: [FAILED], do: log}]", []string{
		"effect 2" + nameMust, "effect 3" + nameMust, "effect 4" + nameMust,
	}},
	{"a step of a job", "[{name: job-done, on: [FAILED], do: log}]",
		[]string{`effect "job-done": names that begin with job- belong to the steps of jobs; give it another one`}},
	{"one name twice", "[{name: a, on: [FAILED], do: log}, {name: a, on: [FAILED], do: log}]",
		[]string{`effect "a": its name is used twice; give each effect one of its own`}},
	{"unknown fields", "[{name: a, on: [FAILED], do: log, to: x, jobkind: [b], 5: y}]", []string{
		`effect "a": there is no field "to"` + theFields, `effect "a": there is no field "jobkind"; did you mean jobKinds?`,
		`effect "a": there is no field "5"` + theFields,
	}},
	{"fields twice", "[{name: a, name: b, on: [FAILED], do: log, do: http}]",
		[]string{`effect "a": "name" is given twice`, `effect "a": "do" is given twice`}},
	{"unknown do", "[{name: a, on: [FAILED], do: htpp, url: x}, {name: b, on: [FAILED], do: mail}, {name: c, on: " +
		"[FAILED]}]", []string{
		`effect "a": do must be one of log, http, pubsub, custom, results, not "htpp"; did you mean http?`,
		`effect "b": do must be one of log, http, pubsub, custom, results, not "mail"`,
		`effect "c": do must be one of log, http, pubsub, custom, results, not ""`,
	}},
	{"a header twice", "[{name: a, on: [FAILED], do: http, url: \"https://x\", headerSecrets: " +
		"{X-A: projects/p/secrets/s, x-a: projects/p/secrets/t}}]", []string{
		`effect "a": headerSecrets has the header "X-A" twice`,
	}},
	{"do is no text", "[{name: a, on: [FAILED], do: [log]}]", []string{`effect "a": do must be a text`}},
	{"unknown states", "[{name: a, on: [SUCCEDED, STUK, DONE, failed], do: log}]", []string{
		`effect "a": "SUCCEDED"` + noWord + `; did you mean SUCCEEDED?`,
		`effect "a": "STUK"` + noWord + `; did you mean STUCK?`,
		`effect "a": "DONE"` + noWord,
		`effect "a": "failed"` + noWord + `; did you mean FAILED?`,
	}},
	{"states twice", "[{name: a, on: [FAILED, FAILED, STUCK, STUCK], do: log}]",
		[]string{`effect "a": it lists FAILED twice`, `effect "a": it lists STUCK twice`}},
	{"no list of states", "[{name: a, on: FAILED, do: log}, {name: b, on: {FAILED: 1}, do: log}, {name: c, on: " +
		"[[FAILED]], do: log}]", []string{
		`effect "a": on must be a list of states and alerts, such as [SUCCEEDED]`,
		`effect "b": on must be a list of states and alerts, such as [SUCCEEDED]`,
		`effect "c": on must be a list of states and alerts, such as [SUCCEEDED]`,
	}},
	{"URLs", "[{name: a, on: [FAILED], do: http}, {name: b, on: [FAILED], do: http, url: \"ftp://hunter2\"}, {name: " +
		"c, on: [FAILED], do: http, url: [\"https://hunter2\"]}]", []string{
		`effect "a": http needs a url: the http or https URL to post to; or a urlSecret, the name of a secret that holds it`,
		`effect "b": url must be an http or https URL`, `effect "c": url must be a text`,
	}},
	{"secrets", "[{name: a, on: [FAILED], do: http, url: \"https://x\", urlSecret: projects/p/secrets/s}, {name: b, on: " +
		"[FAILED], do: http, urlSecret: hunter2, tokenSecret: \"env:hunter 2\"}, {name: c, on: [FAILED], do: http, " +
		"url: \"https://x\", headerSecrets: [hunter2]}, {name: d, on: [FAILED], do: http, url: \"https://x\", " +
		"headerSecrets: {a b: projects/p/secrets/s, X-A: hunter2}}, {name: e, on: [FAILED], do: http, url: \"https://x\", " +
		"tokenSecret: projects/p/secrets/s, headerSecrets: {a b: \"env:A\", authorization: \"env:A\", " +
		"idempotency-key: \"env:A\"}}, {name: f, on: [FAILED], do: log, tokenSecret: \"env:A\"}]", []string{
		`effect "a": url and urlSecret are both given; remove one of them`,
		`effect "b": urlSecret names no secret: it must be the name of a secret in Secret Manager, ` +
			`projects/PROJECT/secrets/SECRET`,
		`effect "b": tokenSecret names no secret: env: must be followed by the name of a variable, such as env:CRM_TOKEN`,
		`effect "c": headerSecrets must be a mapping such as {X-Api-Key: projects/my-project/secrets/my-key}`,
		`effect "d": headerSecrets has a header "X-A" that names no secret: it must be the name of a secret in Secret ` +
			`Manager, projects/PROJECT/secrets/SECRET`,
		`effect "e": tokenSecret is sent as Authorization, which headerSecrets has too; remove one of them`,
		`effect "e": headerSecrets: the header Idempotency-Key is set by opledger itself; use another name`,
		`effect "e": headerSecrets: "a b" is not a valid header name`,
		`effect "f": tokenSecret is for do: http`,
	}},
	{"concurrency", "[{name: a, on: [FAILED], do: log, concurrency: 0}, {name: b, on: [FAILED], do: log, " +
		"concurrency: many}, " +
		"{name: c, on: [FAILED], do: log, concurrency: 1.5}, {name: d, on: [FAILED], do: log, concurrency: [3]}]", []string{
		`effect "a": concurrency must be a whole number, at least 1, such as 10`, `effect "b": concurrency must be a ` +
			`whole number, at least 1, such as 10`,
		`effect "c": concurrency must be a whole number, at least 1, such as 10`, `effect "d": concurrency must be a ` +
			`whole number, at least 1, such as 10`,
	}},
	{"timeouts", "[{name: a, on: [FAILED], do: log, timeout: soon}, {name: b, on: [FAILED], do: log, timeout: 30}, " +
		"{name: c, on: [FAILED], do: log, timeout: 1d}, " +
		"{name: d, on: [FAILED], do: log, timeout: -5s}, {name: e, on: [FAILED], do: log, timeout: {s: 5}}]", []string{
		`effect "a": timeout "soon" is not a duration; write 90s, 5m or 6h`, `effect "b": timeout "30" is not a ` +
			`duration; write 90s, 5m or 6h`,
		`effect "c": timeout "1d" is not a duration; a day is 24h: write 24h`, `effect "d": timeout must not be below zero`,
		`effect "e": timeout "{" is not a duration; write 90s, 5m or 6h`,
	}},
	{"statuses", "[{name: a, on: [FAILED], do: http, url: \"https://x\", permanent: 404}, {name: b, on: [FAILED], " +
		"do: http, url: \"https://x\", permanent: [4xx]}, " +
		"{name: c, on: [FAILED], do: http, url: \"https://x\", permanent: [404, 204, 600]}, {name: d, on: [FAILED], do: " +
		"log, permanent: [404]}, " +
		"{name: e, on: [FAILED], do: http, url: \"https://x\", permanent: [\"404\", 503]}]", []string{
		`effect "a": permanent must be a list of numbers, such as [404]`,
		`effect "b": permanent must be a list of numbers, such as [404]; "4xx" is not a number`,
		`effect "c": permanent must be statuses from 400 to 599, such as [404], not 204`,
		`effect "c": permanent must be statuses from 400 to 599, such as [404], not 600`,
		`effect "d": permanent is for do: http`,
	}},
	{"where results go", "[{name: a, on: [SUCCEEDED], do: results, collection: \"no/slash\"}, {name: b, on: " +
		"[SUCCEEDED], do: results, collection: c, bucket: \"gs://x\"}, " +
		"{name: c, on: [FAILED], do: log, bucket: \"gs://bucket\"}, {name: d, on: [FAILED], do: results, bucket: " +
		"\"gs://bucket\", each: item}]", []string{
		`effect "a": collection must be letters, digits, - and _, beginning with a letter, at most 63, not "no/slash"`,
		`effect "b": results are written to a collection or to a bucket; for both make two effects`,
		`effect "c": bucket is for do: results`,
		`effect "d": a bucket gets the whole result as one object; remove each`,
		`effect "d": only a batch that succeeded has items: on must be [SUCCEEDED]`,
	}},
	{"job kinds", `[{name: a, on: [FAILED], do: log, jobKinds: "batch-*"}, {name: b, on: [FAILED], do: log, ` +
		`jobKinds: ["[a", "ok-*", "b\\"]}]`, []string{
		`effect "a": jobKinds must be a list of texts, such as ["batch-*"]`,
		`effect "b": jobKinds: "[a" is not a pattern such as batch-*: a [ needs its ], and a \ a character after it`,
		`effect "b": jobKinds: "b\\" is not a pattern such as batch-*: a [ needs its ], and a \ a character after it`,
	}},
	{"items", "[{name: a, on: [FAILED], do: log, each: item}, {name: b, on: [SUCCEEDED], do: log, each: items}, " +
		"{name: c, on: [SUCCEEDED], do: results}]", []string{
		`effect "a": only a batch that succeeded has items: on must be [SUCCEEDED]`,
		`effect "b": each must be item, for once per item of a batch's result, or be left out, not "items"`,
		`effect "c": results needs a collection, for a document each item, or a bucket, gs://BUCKET/PREFIX, for one object`,
	}},
	{"of another do", "[{name: a, on: [FAILED], do: log, url: x, topic: y, collection: z}]", []string{
		`effect "a": url is for do: http`, `effect "a": topic is for do: pubsub`, `effect "a": collection is for do: ` +
			`results`,
	}},
	{"an anchor", "- &a {name: a, on: [FAILED], do: log}\n- {<<: *a, name: b}\n", []string{
		notAList + ", without anchors and aliases: line 1" + inFull,
	}},
	{"an alias, or a text like one", "- name: a\n  on: [FAILED]\n  do: log\n  jobKinds: [*-nightly]\n", []string{
		notAList + ", without anchors and aliases: line 4" + inFull,
	}},
	{"a merge", "[{<<: {do: log}, name: a, on: [FAILED]}]", []string{
		`effect "a": do must be one of log, http, pubsub, custom, results, not ""`,
		`effect "a": there is no field "<<"` + theFields,
	}},
	{"buckets", "[{name: a, on: [SUCCEEDED], do: results, bucket: \"gs://x/\"}, {name: b, on: [SUCCEEDED], do: " +
		"results, bucket: \"bucket/x\"}, " +
		"{name: c, on: [SUCCEEDED], do: results, bucket: \"gs://bucket/a//b\"}]", []string{
		`effect "a": bucket "gs://x/": a bucket's name has 3 to 222 lower-case letters, digits and . _ -, and begins ` +
			`and ends with a letter or digit; "x" is none`,
		`effect "b": bucket must be gs://BUCKET or gs://BUCKET/PREFIX, not "bucket/x"`,
		`effect "c": bucket "gs://bucket/a//b": a prefix has at most 399 letters, digits and . _ - = /, and none of its ` +
			`parts is empty or begins with . or -`,
	}},
	{"in the order of the text", "- name: A\n  on: [DONE]\n  do: htpp\n- name: b\n  on: []\n  do: log\n  jobKinds: " +
		"[\"[\"]\n- name: b\n  on: [FAILED]\n  do: log\n  to: x\n", []string{
		`effect "A" (line 1)` + nameMust, `effect "A" (line 1): "DONE"` + noWord,
		`effect "A" (line 3): do must be one of log, http, pubsub, custom, results, not "htpp"; did you mean http?`,
		`effect "b" (line 4): it lists no state or alert to run on`,
		`effect "b" (line 4): jobKinds: "[" is not a pattern such as batch-*: a [ needs its ], and a \ a character after it`,
		`effect "b" (line 8): its name is used twice; give each effect one of its own`,
		`effect "b" (line 11): there is no field "to"` + theFields,
	}},
	{"lines, and all at once", "- name: a\n  on: [FAILED]\n  do: log\n  colour: red\n- on: []\n  do: http\n  url: " +
		"hunter2\n  timeout: soon\n", []string{
		`effect "a" (line 4): there is no field "colour"` + theFields,
		"effect 2 (line 5)" + nameMust, "effect 2 (line 5): it lists no state or alert to run on",
		`effect 2 (line 7): url must be an http or https URL`, `effect 2 (line 8): timeout "soon" is not a duration; ` +
			`write 90s, 5m or 6h`,
	}},
}

// TestEveryMistakeAtOnce: each mistake is reported once, with the effect, the field and what is
// allowed, and none hides another.
func TestEveryMistakeAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range mistakes {
		got := problems(c.text)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s\n-want +got\n%s", c.about, c.text, diff)
		}
		if strings.Contains(strings.Join(got, " "), "hunter2") {
			t.Errorf("%s: what may hold a secret is in %q", c.about, got)
		}
	}
}

// TestEmptyFields: a field without a value counts as left out, also one of another kind; a timeout of 0
// needs no unit.
func TestEmptyFields(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[{name: a, on: [FAILED], do: log, url: null, topic: ~}]`,
		`[{name: a, on: [FAILED], do: http, url: "https://x", timeout: 0}]`,
	} {
		if found := problems(text); len(found) > 0 {
			t.Errorf("%s: %q", text, found)
		}
	}
}

// TestSpecForms: null leaves a field as it is.
func TestSpecForms(t *testing.T) {
	t.Parallel()
	text := "- {name: a, on: [FAILED], do: log, timeout: ~, concurrency: null, url: null}\n"
	specs, err := kinds.ParseSpecs([]byte(text), operation.Transitions{})
	if err != nil || len(specs) != 1 || specs[0].Timeout != 0 || specs[0].Concurrency != 0 {
		t.Errorf("%+v, %v", specs, err)
	}
}
