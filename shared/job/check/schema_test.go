package check_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/check"
)

// TestSchema: each word of Gemini's Schema allows and forbids what it says.
func TestSchema(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		schema    string
		good, bad []string
	}{
		{`{"type":"STRING"}`, []string{`"a"`}, []string{`1`, `null`}},
		{`{"type":"string"}`, []string{`"a"`}, []string{`1`}},
		{`{"type":"TYPE_UNSPECIFIED"}`, []string{`"a"`, `1`}, nil},
		{`{"type":["STRING","NULL"]}`, []string{`"a"`, `null`}, []string{`1`}},
		{`{"type":"STRING","nullable":true}`, []string{`"a"`, `null`}, []string{`1`}},
		{`{"type":"STRING","enum":["a","b"],"format":"enum","nullable":true}`, []string{`"a"`, `null`}, []string{`"c"`}},
		{`{"type":"INTEGER","enum":["101","201"],"format":"enum"}`, []string{`101`}, []string{`"101"`, `301`}},
		{`{"type":"INTEGER","format":"int32"}`, []string{`1`, `1.0`}, []string{`1.5`}},
		{`{"type":"NUMBER","minimum":1,"maximum":2.5}`, []string{`1`, `2.5`}, []string{`0`, `3`, `1e300`}},
		{`{"type":"BOOLEAN"}`, []string{`true`}, []string{`"true"`}},
		{`{"type":"ARRAY","items":{"type":"STRING"},"minItems":"1","max_items":2}`,
			[]string{`["a"]`}, []string{`[]`, `[1]`, `["a","b","c"]`}},
		{`{"type":"STRING","minLength":"2","maxLength":"3","pattern":"^a"}`,
			[]string{`"ab"`}, []string{`"a"`, `"abcd"`, `"ba"`}},
		{`{"type":"STRING","format":"date-time"}`, []string{`"2026-11-27T12:00:00Z"`}, []string{`"today"`}},
		{
			`{"type":"OBJECT","properties":{"type":{"type":"STRING"},"a_b":{"type":"INTEGER","nullable":true}},
			  "required":["type"],"propertyOrdering":["type","a_b"]}`,
			[]string{`{"type":"x"}`, `{"type":"x","a_b":1}`, `{"type":"x","a_b":null,"c":1}`},
			[]string{`{}`, `{"type":1}`, `{"type":"x","a_b":"1"}`},
		},
		{`{"type":"OBJECT","minProperties":"1","maxProperties":"1"}`, []string{`{"a":1}`}, []string{`{}`, `{"a":1,"b":1}`}},
		{`{"any_of":[{"type":"STRING"},{"type":"INTEGER"}],"nullable":true}`, []string{`"a"`, `1`, `null`}, []string{`true`}},
	} {
		request := json.RawMessage(`{"generationConfig":{"responseSchema":` + test.schema + `}}`)
		valid, err := check.NewChecks("schema").Of(request)
		if err != nil {
			t.Errorf("%s: %v", test.schema, err)
			continue
		}
		for _, text := range test.good {
			if got := job.Judge(texts(text), nil, valid); got.Outcome != job.OutcomeDone {
				t.Errorf("%s: %s is %+v", test.schema, text, got)
			}
		}
		for _, text := range test.bad {
			if got := job.Judge(texts(text), nil, valid); got.Outcome != job.OutcomeInvalid {
				t.Errorf("%s: %s is %+v", test.schema, text, got)
			}
		}
	}
}

// TestSchemaRefused: what cannot be checked is an error, and nothing outside of the schema is read.
func TestSchemaRefused(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		`"responseJsonSchema":{"$ref":"file:///etc/hostname"}`:                    "a schema may only refer to itself",
		`"responseJsonSchema":{"$ref":"https://schemas.example/a"}`:               "a schema may only refer to itself",
		`"responseJsonSchema":{"$schema":"https://schemas.example"}`:              "a schema may only refer to itself",
		`"responseSchema":{"type":"COLOUR"}`:                                      "validate json instead",
		`"responseSchema":{"type":"STRING","pattern":"(?=a)"}`:                    "validate json instead",
		`"responseSchema":"STRING"`:                                               "validate json instead",
		`"responseSchema":{"minimum":1e999}`:                                      "reading the response schema",
		`"responseSchema":{"description":"` + strings.Repeat("x", 256<<10) + `"}`: "more than 262144",
	} {
		_, err := check.NewChecks("schema").Of(json.RawMessage(`{"generationConfig":{` + config + `}}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", config, err, want)
		}
	}
}

// What the validator would panic or compute for long about, or hold many times, is refused before.
func TestSchemaTexts(t *testing.T) {
	t.Parallel()
	valid, err := check.NewChecks("schema").Of(json.RawMessage(`{"generationConfig":{"responseSchema":{"minimum":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"1e999999999", "-1e999", `"` + strings.Repeat("x", 4<<20) + `"`} {
		if got := job.Judge(texts(text), nil, valid); got.Outcome != job.OutcomeInvalid ||
			!strings.Contains(got.Why, "cannot be checked") {
			t.Errorf("%.20s: %+v", text, got)
		}
	}
}

// A schema may refer to itself, also in a circle.
func TestSchemaRefersToItself(t *testing.T) {
	t.Parallel()
	valid, err := check.NewChecks("schema").Of(json.RawMessage(`{"generationConfig":{"responseJsonSchema":
		{"$defs":{"tree":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"$ref":"#/$defs/tree"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := job.Judge(texts(`[[],[[]]]`), nil, valid); got.Outcome != job.OutcomeDone {
		t.Errorf("%+v", got)
	}
	if got := job.Judge(texts(`[[],[1]]`), nil, valid); !strings.Contains(got.Why, "at '/1/0': got number, want array") {
		t.Errorf("%+v", got)
	}
}
