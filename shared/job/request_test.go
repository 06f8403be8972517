package job_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// body is a request that Gemini takes.
const body = `{"contents":[{"parts":[{"text":"Hello"}]}]}`

// keyed is a line with this key, as JSON, and asking one with this request.
func keyed(key string) string      { return `{"key":` + key + `,"request":` + body + `}` }
func asking(request string) string { return `{"key":"a","request":` + request + `}` }

func TestParseRequest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", job.MaxKeyBytes)
	for line, want := range map[string]job.Request{
		keyed(`"a"`):            {Key: "a"},
		keyed(`"ü \"\u00fc\""`): {Key: `ü "ü"`},
		keyed(`17`):             {Key: "17"},
		keyed(`-1`):             {Key: "-1"},
		keyed(`"` + long + `"`): {Key: long},
		` { "request" : ` + body + ` , "key" : "a" } `:          {Key: "a"},
		`{"key":"a","note":{"url":1},"request":` + body + `}`:   {Key: "a"},
		`{"key":"a","model":"models/m","request":` + body + `}`: {Key: "a", Model: "m"},
		`{"key":"a","custom_id":"b","request":` + body + `}`:    {Key: "a"},
	} {
		want.Body = json.RawMessage(body)
		if got, err := job.ParseRequest([]byte(line), ""); err != nil || !same(got, want) {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
	named := `{"custom_id":"a","key":"b","request":` + body + `}`
	if got, err := job.ParseRequest([]byte(named), "custom_id"); err != nil || got.Key != "a" {
		t.Errorf("%+v, %v", got, err)
	}
}

func same(a, b job.Request) bool {
	return a.Key == b.Key && a.Model == b.Model && string(a.Body) == string(b.Body)
}

// TestParseRequestBodies: what Gemini takes passes, in both of its spellings, and so does what is not known.
func TestParseRequestBodies(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"contents":{"parts":{"text":"Hello"}},"system_instruction":{"parts":{"text":"You are a cat"}}}`,
		`{"contents":[{"role":"user","parts":[{"inlineData":{"data":"AA=="}},{"file_data":{}}]}],"tools":[]}`,
		`{"model":"m","contents":[{"parts":[]}],"generationConfig":{"temperature":0,"maxOutputTokens":1,"unheardOf":{}}}`,
		`{"contents":[{"parts":[{}]}],"generation_config":{"max_output_tokens":1,"response_schema":{"type":"OBJECT"}}}`,
		`{"contents":[{"parts":[{}]}],"tool_config":{},"cachedContent":"cachedContents/a","unheardOf":{"temperature":1}}`,
		`{"contents":[{"parts":[{}]}],"toolSettings":{},"context":1}`,
		`{"contents":[{"parts":[{}]}],"stream":true,"generationConfig":{"topN":1,"searchConfig":1,"audioTimestamp":1}}`,
	} {
		if _, err := job.ParseRequest([]byte(asking(body)), ""); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestParseRequestRefused: everything that is wrong with a line is said, with its place and what to do.
func TestParseRequestRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		line  string
		wants []string
	}{
		{``, []string{"line: it is not one JSON value"}},
		{`{"key":`, []string{"on one line: unexpected EOF behind byte 7"}},
		{"{\"a\xff\"", []string{"line: it is not UTF-8"}},
		{`[{}]`, []string{"line: it is a list"}},
		{`7`, []string{"line: it is not an object"}},
		{`{}`, []string{"key: it is missing", "request: it is missing"}},
		{asking(`{"contents":[{"parts":[{}]}],"generationConfg":{}}`), []string{"write it as request.generationConfig"}},
		{asking(`{"contents":[{"parts":[{}]}],"generationConfig":{"temprature":1}}`), []string{
			"request.generationConfig.temprature: write it as request.generationConfig.temperature",
		}},
		{asking(`{"contents":[{"role":"assistant","parts":[{}]},{"role":"system","parts":[{}]}]}`), []string{
			"request.contents[0].role: write it as model",
			"request.contents[1].role: write this content as request.systemInstruction",
		}},
		{keyed(`"a","key":"b"`), []string{"key: the line has it twice"}},
		{keyed(`"a","request":{}`), []string{"request: the line has it twice", "request.contents: it is missing"}},
		{`{"custom_id":1,"request":` + body + `}`, []string{"a key of its own, or name custom_id as the field"}},
		{keyed(`""`), []string{"key: it is empty"}},
		{keyed(`null`), []string{`key: it must be a text or a whole number, not "null"`}},
		{keyed(`1.5`), []string{`key: it must be a text or a whole number, not "1.5"`}},
		{keyed(`["a"]`), []string{"key: it must be a text or a whole number"}},
		{keyed(`"a\u0000"`), []string{"key: it has control characters"}},
		{keyed(`"a\n"`), []string{"key: it has control characters"}},
		{keyed(`"a\ud800"`), []string{"key: it has U+FFFD"}},
		{keyed(`"` + strings.Repeat("k", 513) + `"`), []string{"key: 513 bytes are more than 512"}},
		{asking(`null`), []string{"request: it must be an object"}},
		{asking(`{"contents":[]}`), []string{"request.contents: it is empty"}},
		{asking(`{"contents":"Hi"}`), []string{"request.contents: it must be a list"}},
		{asking(`{"contents":["Hi"]}`), []string{"request.contents[0]: it must be a content"}},
		{asking(`{"contents":[{"parts":[{}]},{"content":"Hi"}]}`), []string{"request.contents[1]: its parts must be"}},
		{asking(`{"contents":[{"parts":[{},"Hi"]}]}`), []string{"request.contents[0]: its parts must be"}},
		{asking(`{"contents":{"parts":"Hi"}}`), []string{"request.contents: its parts must be"}},
		{`{"custom_id":"a","method":"POST","url":"/v1/chat","body":{"messages":[]}}`, []string{
			"line: its members (custom_id, method, url, body) are those of another provider's batch format",
		}},
		{`{"custom_id":"a","params":{"messages":[]}}`, []string{"line: its members (custom_id, params) are those of"}},
		{`{"key":"a","contents":[],"temperature":1,"config":{}}`, []string{
			"contents: write it as request.contents", "temperature: write it as request.generationConfig.temperature",
			"config: it is an SDK's", "request: it is missing",
		}},
		{`{"key":"a","systemInstruction":"Be brief","model":7,"request":` + body + `}`, []string{
			"systemInstruction: write it as request.systemInstruction", "model: it must be the name",
		}},
		{`{"key":"a","model":"m","request":{"model":"n","contents":{"parts":{}}}}`, []string{
			`request.model: "n" is another model than "m"`,
		}},
	} {
		expect(t, test.line, test.wants)
	}
}

// TestParseRequestMisplaced: an SDK's flat config fails a whole batch; each of its fields is named with where
// it belongs.
func TestParseRequestMisplaced(t *testing.T) {
	t.Parallel()
	for _, test := range [][2]string{
		{`"temperature":1`, "request.temperature: write it as request.generationConfig.temperature"},
		{`"maxOutputTokens":1`, "request.maxOutputTokens: write it as request.generationConfig.maxOutputTokens"},
		{`"max_output_tokens":1`, "request.max_output_tokens: write it as request.generationConfig.maxOutputTokens"},
		{`"max_tokens":1`, "request.max_tokens: write it as request.generationConfig.maxOutputTokens"},
		{`"top_p":1`, "request.top_p: write it as request.generationConfig.topP"},
		{`"responseMimeType":""`, "request.responseMimeType: write it as request.generationConfig.responseMimeType"},
		{`"response_schema":{}`, "request.response_schema: write it as request.generationConfig.responseSchema"},
		{`"config":{"temperature":1}`, "request.config: it is an SDK's; write its settings into request.generationConfig"},
		{`"messages":[]`, "request.messages: Gemini has no such field; write request.contents as"},
		{`"http_options":{}`, "request.http_options: it is a setting of the SDK"},
		{`"systemInstruction":"Be brief"`, "request.systemInstruction: it must be a content"},
		{`"generationConfig":{"systemInstruction":{}}`, "systemInstruction: write it as request.systemInstruction"},
		{`"generation_config":{"tools":[]}`, "request.generationConfig.tools: write it as request.tools"},
		{`"generationConfig":{"max_tokens":1}`, "max_tokens: write it as request.generationConfig.maxOutputTokens"},
		{`"generationConfig":{"thinkingBudget":1}`, "write it as request.generationConfig.thinkingConfig.thinkingBudget"},
		{`"generationConfig":[]`, "request.generationConfig: it must be an object"},
	} {
		expect(t, asking(`{"contents":[{"parts":[{}]}],`+test[0]+`}`), test[1:])
	}
}

// expect expects these problems of a line, and no others.
func expect(t *testing.T, line string, wants []string) {
	t.Helper()
	got, err := job.ParseRequest([]byte(line), "")
	if err == nil || !same(got, job.Request{}) || !errors.Is(err, operation.ErrSubmission) {
		t.Errorf("%s: %+v, %v", line, got, err)
		return
	}
	said := strings.Split(err.Error(), "\n")
	if len(said) != len(wants) {
		t.Errorf("%s: %q, want %q", line, said, wants)
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

// FuzzParseRequest: of any line there is a request or a problem. A request's line is JSON, and its canonical
// line is read as the same.
func FuzzParseRequest(f *testing.F) {
	for _, line := range []string{
		keyed(`"a"`), keyed(`17,"model":"m"`), keyed(`"\"\\\u00fc"`), asking(`{"contents":["Hi"],"config":{}}`),
		`{"custom_id":"a","body":{}}`, `[]`, `{"`, "\xff",
	} {
		f.Add(line, "")
		f.Add(line, "custom_id")
	}
	f.Fuzz(func(t *testing.T, line, keyField string) {
		r, err := job.ParseRequest([]byte(line), keyField)
		if err != nil {
			return
		}
		if !json.Valid([]byte(line)) || !json.Valid(r.Body) || r.Key == "" {
			t.Fatalf("%q: %+v", line, r)
		}
		canonical := r.AppendLine(nil)
		again, err := job.ParseRequest(canonical, "")
		if err != nil || again.Key != r.Key || string(again.Body) != string(r.Body) {
			t.Errorf("%q: %q is read as %+v, %v", line, canonical, again, err)
		}
		split, err := job.SplitLine(canonical)
		if err != nil || split.Key != r.Key || string(split.Body) != string(r.Body) {
			t.Errorf("%q: %q is split into %+v, %v", line, canonical, split, err)
		}
	})
}
