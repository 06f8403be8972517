package check_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/check"
)

// texts is a complete response whose parts have these texts.
func texts(parts ...string) json.RawMessage {
	var said []map[string]any
	for _, part := range parts {
		text, thought := strings.CutPrefix(part, "thought:")
		said = append(said, map[string]any{"text": text, "thought": thought})
	}
	text, err := json.Marshal(map[string]any{"candidates": []any{
		map[string]any{"content": map[string]any{"parts": said}, "finishReason": "STOP"},
	}})
	if err != nil {
		panic(err) // cannot happen for texts
	}
	return text
}

func TestCheckJSON(t *testing.T) {
	t.Parallel()
	valid, err := check.NewChecks("json").Of(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, good := range [][]string{
		{`{"a":1}`}, {`{"a"`, `:1}`}, {"thought:I think", "[1,2]\n"}, {" 7 "}, {`"\n"`}, {"null"}, {"1e999999999"},
	} {
		if got := job.Judge(texts(good...), nil, valid); got != (job.Judgement{Outcome: job.OutcomeDone}) {
			t.Errorf("%q: %+v", good, got)
		}
	}
	for _, bad := range [][]string{
		{}, {""}, {"thought:{}"}, {"yes"}, {"{} {}"}, {"```json\n{}\n```"}, {`{"a":1`},
	} {
		if got := job.Judge(texts(bad...), nil, valid); got.Outcome != job.OutcomeInvalid {
			t.Errorf("%q: %+v", bad, got)
		}
	}
	cut := strings.Replace(string(texts("{")), "STOP", "MAX_TOKENS", 1)
	if got := job.Judge(json.RawMessage(cut), nil, valid); got.Outcome != job.OutcomeTruncated {
		t.Errorf("a truncated answer is not checked: %+v", got)
	}
	two := `{"candidates":[` + candidate("no") + `,` + candidate("{}") + `]}`
	if got := job.Judge(json.RawMessage(two), nil, valid); got.Outcome != job.OutcomeDone {
		t.Errorf("one of two candidates is valid: %+v", got)
	}
}

func candidate(text string) string {
	return `{"finishReason":"STOP","content":{"parts":[{"text":"` + text + `"}]}}`
}

func TestNewCheck(t *testing.T) {
	t.Parallel()
	if valid, err := check.NewChecks("").Of(json.RawMessage(`{}`)); valid != nil || err != nil {
		t.Errorf("%v, %v", valid != nil, err)
	}
	if _, err := check.NewChecks("xml").Of(json.RawMessage(`{}`)); err == nil {
		t.Error("xml is taken")
	}
	for _, request := range []string{`{}`, `{"generationConfig":{"responseSchema":null}}`, `{"generationConfig":7}`} {
		valid, err := check.NewChecks("schema").Of(json.RawMessage(request))
		if err != nil {
			t.Fatal(err)
		}
		if got := job.Judge(texts("7"), nil, valid); got.Outcome != job.OutcomeDone {
			t.Errorf("%s: %+v", request, got)
		}
		if got := job.Judge(texts("seven"), nil, valid); got.Outcome != job.OutcomeInvalid {
			t.Errorf("%s: %+v", request, got)
		}
	}
}

// A schema is found wherever Gemini takes it.
func TestCheckSchemaFound(t *testing.T) {
	t.Parallel()
	for _, config := range []string{
		`"generationConfig":{"responseSchema":{"type":"INTEGER"}}`,
		`"generation_config":{"response_schema":{"type":"INTEGER"}}`,
		`"generationConfig":{"responseJsonSchema":{"type":"integer"}}`,
		`"generationConfig":{"response_json_schema":{"type":"integer"}}`,
		`"generationConfig":{"_responseJsonSchema":{"type":"integer"}}`,
		`"generationConfig":{"responseFormat":{"text":{"schema":{"type":"integer"}}}}`,
		`"generationConfig":{"responseFormat":[{"text":{"schema":{"type":"integer"}}}]}`,
	} {
		valid, err := check.NewChecks("schema").Of(json.RawMessage(`{"contents":[{"parts":[{"text":"a"}]}],` + config + `}`))
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		if got := job.Judge(texts("7"), nil, valid); got.Outcome != job.OutcomeDone {
			t.Errorf("%s: %+v", config, got)
		}
		got := job.Judge(texts(`"7"`), nil, valid)
		if want := "the answer does not match its schema: at '': got string, want integer"; got.Why != want {
			t.Errorf("%s: %+v", config, got)
		}
	}
}

// Many requests with a few schemas are checked each by its own, the broken ones too, however many schemas
// there are.
func TestChecks(t *testing.T) {
	t.Parallel()
	checks := check.NewChecks("schema")
	for range 3 {
		for i := range 200 {
			request := fmt.Sprintf(`{"generationConfig":{"responseSchema":{"type":"INTEGER","minimum":%d}}}`, i)
			valid, err := checks.Of(json.RawMessage(request))
			if err != nil {
				t.Fatal(err)
			}
			for n, want := range map[int]job.Outcome{i: job.OutcomeDone, i - 1: job.OutcomeInvalid} {
				if got := job.Judge(texts(fmt.Sprint(n)), nil, valid); got.Outcome != want {
					t.Errorf("minimum %d: %d is %+v", i, n, got)
				}
			}
		}
		if _, err := checks.Of(json.RawMessage(`{"generationConfig":{"responseSchema":{"type":"COLOUR"}}}`)); err == nil {
			t.Error("a schema with an unknown type is taken")
		}
	}
}

// A schema is compiled once, for however many requests.
func TestChecksCompileOnce(t *testing.T) {
	request := json.RawMessage(`{"generationConfig":{"responseSchema":{"type":"INTEGER"}}}`)
	checks := check.NewChecks("schema")
	allocated := testing.AllocsPerRun(100, func() {
		if _, err := checks.Of(request); err != nil {
			t.Fatal(err)
		}
	})
	if allocated > 10 {
		t.Errorf("%v allocations", allocated)
	}
}
