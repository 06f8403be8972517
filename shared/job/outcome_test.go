package job_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/check"
)

const (
	answered  = `{"candidates":[{"content":{"parts":[{"text":"yes"}],"role":"model"},"finishReason":"STOP"}]}`
	noReason  = `the candidate has no finishReason: it is not complete`
	truncated = "finishReason MAX_TOKENS"
	blocked   = "the prompt was blocked: SAFETY"
)

// finished is a response with one candidate for each of the reasons.
func finished(reasons ...string) string {
	var candidates []string
	for _, reason := range reasons {
		candidates = append(candidates, `{"finishReason":"`+reason+`"}`)
	}
	return `{"candidates":[` + strings.Join(candidates, ",") + `]}`
}

func TestJudgeResponse(t *testing.T) {
	t.Parallel()
	for response, want := range map[string]job.Judgement{
		answered:               {Outcome: job.OutcomeDone},
		finished("STOP"):       {Outcome: job.OutcomeDone},
		"  " + answered:        {Outcome: job.OutcomeDone},
		finished("MAX_TOKENS"): {Outcome: job.OutcomeTruncated, Why: truncated},
		`{"candidates":[{"finishReason":"SAFETY","finishMessage":"a\nb"}]}`: {
			Outcome: job.OutcomeRefused, Why: `finishReason SAFETY: a\nb`,
		},
		finished("SLEEPY"): {Outcome: job.OutcomeFailed, Why: "the finishReason is not known: SLEEPY"},
		`{"candidates":[{"content":{"parts":[{"text":"ye"}]}}]}`:      {Outcome: job.OutcomeFailed, Why: noReason},
		`{"candidates":[{"finishReason":7}]}`:                         {Outcome: job.OutcomeFailed, Why: noReason},
		`{"candidates":[null]}`:                                       {Outcome: job.OutcomeFailed, Why: noReason},
		finished("SAFETY", "STOP", "OTHER"):                           {Outcome: job.OutcomeDone},
		finished("MAX_TOKENS", "SAFETY"):                              {Outcome: job.OutcomeTruncated, Why: truncated},
		`{"promptFeedback":{"blockReason":"SAFETY"}}`:                 {Outcome: job.OutcomeRefused, Why: blocked},
		`{"promptFeedback":{"blockReason":"SAFETY"},"candidates":[]}`: {Outcome: job.OutcomeRefused, Why: blocked},
		`{"promptFeedback":{"blockReason":"ODD"}}`: {
			Outcome: job.OutcomeFailed, Why: "the prompt was blocked for a reason that is not known: ODD",
		},
		`{"promptFeedback":{}}`: {Outcome: job.OutcomeFailed, Why: "the response has no candidate and no embedding"},
		`{}`:                    {Outcome: job.OutcomeFailed, Why: "the response has no candidate and no embedding"},
		`{"embedding":{"values":[0.1,-2e-3]},"usageMetadata":{"promptTokenCount":7}}`: {
			Outcome: job.OutcomeDone, Usage: job.Usage{Input: 7},
		},
		`{"embedding":{"values":[]}}`: {Outcome: job.OutcomeFailed, Why: "the response has no candidate and no embedding"},
		`[]`:                          {Outcome: job.OutcomeFailed, Why: "there is no response"},
		`null`:                        {Outcome: job.OutcomeFailed, Why: "there is no response"},
		``:                            {Outcome: job.OutcomeFailed, Why: "there is no response"},
	} {
		if got := job.Judge(json.RawMessage(response), nil, nil); got != want {
			t.Errorf("%s: %+v, want %+v", response, got, want)
		}
	}
}

func TestJudgeFailure(t *testing.T) {
	t.Parallel()
	for failure, want := range map[string]job.Judgement{
		`{"code":3,"message":"bad"}`:     {Outcome: job.OutcomeRefused, Why: "3: bad"},
		`{"code":400}`:                   {Outcome: job.OutcomeRefused, Why: "400"},
		`{"code":"400","message":"bad"}`: {Outcome: job.OutcomeRefused, Why: "400: bad"},
		`{"code":400,"status":"INVALID_ARGUMENT","message":"bad"}`: {
			Outcome: job.OutcomeRefused, Why: "400 INVALID_ARGUMENT: bad",
		},
		`{"status":"INVALID_ARGUMENT"}`:               {Outcome: job.OutcomeRefused, Why: "INVALID_ARGUMENT"},
		`{"code":"invalid_argument","message":"bad"}`: {Outcome: job.OutcomeRefused, Why: "INVALID_ARGUMENT: bad"},
		`{"code":400,"status":"FAILED_PRECONDITION","message":"b"}`: {
			Outcome: job.OutcomeFailed, Why: "400 FAILED_PRECONDITION: b",
		},
		`{"code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}`: {
			Outcome: job.OutcomeFailed, Why: "400 INVALID_ARGUMENT",
		},
		`{"message":"opledger: it is null"}`: {Outcome: job.OutcomeFailed, Why: "opledger: it is null"},
		`"gone"`:                             {Outcome: job.OutcomeFailed, Why: "gone"},
		`{}`:                                 {Outcome: job.OutcomeFailed, Why: "an error without a code: {}"},
		`7`:                                  {Outcome: job.OutcomeFailed, Why: "an error without a code: 7"},
	} {
		if got := job.Judge(nil, json.RawMessage(failure), nil); got != want {
			t.Errorf("%s: %+v, want %+v", failure, got, want)
		}
	}
	for _, code := range []string{"1", "4", "8", "13", "14", "429", "499", "500", "503", "504", "403", "404"} {
		if got := job.Judge(nil, json.RawMessage(`{"code":`+code+`}`), nil); got.Outcome != job.OutcomeFailed {
			t.Errorf("code %s: %+v", code, got)
		}
	}
	both := job.Judge(json.RawMessage(answered), json.RawMessage(`{"code":503}`), nil)
	if both != (job.Judgement{Outcome: job.OutcomeFailed, Why: "503"}) {
		t.Errorf("of both a response and a failure: %+v", both)
	}
}

func TestJudgeUsage(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]job.Usage{
		`{"promptTokenCount":7,"toolUsePromptTokenCount":2,"candidatesTokenCount":3,"thoughtsTokenCount":4,
		  "cachedContentTokenCount":5,"totalTokenCount":16}`: {Input: 9, Output: 3, Thinking: 4, Cached: 5},
		`{"promptTokenCount":"7"}`:                                      {Input: 7},
		`{"promptTokenCount":-7,"candidatesTokenCount":1}`:              {Output: 1},
		`{"promptTokenCount":1099511627776,"candidatesTokenCount":1}`:   {Input: 1 << 40, Output: 1},
		`{"promptTokenCount":1099511627777,"candidatesTokenCount":1e9}`: {},
		`{"promptTokenCount":99999999999999999999999}`:                  {},
		`{"promptTokenCount":{"a":1},"candidatesTokenCount":2}`:         {Output: 2},
		`null`: {},
		`[1]`:  {},
	} {
		for _, response := range []string{
			`{"candidates":[{"finishReason":"SAFETY"}],"usageMetadata":` + usage + `}`,
			`{"usageMetadata":` + usage + `,"promptFeedback":{"blockReason":"OTHER"}}`,
		} {
			if got := job.Judge(json.RawMessage(response), nil, nil); got.Usage != want || got.Outcome != job.OutcomeRefused {
				t.Errorf("%s: %+v, want %+v", response, got, want)
			}
		}
	}
}

// What Gemini says is short and printable in Why, however long it is.
func TestJudgeWhy(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		strings.Repeat("x", 1<<20), strings.Repeat(`\u001b`, 1000), strings.Repeat("ü", 1000),
	} {
		failure := `{"code":503,"message":"` + message + `"}`
		checkWhy(t, job.Judge(nil, json.RawMessage(failure), nil))
	}
}

func checkWhy(t *testing.T, j job.Judgement) {
	t.Helper()
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if len(j.Why) > 300 || !utf8.ValidString(j.Why) || strings.ContainsFunc(j.Why, unprintable) {
		t.Errorf("%d bytes: %q", len(j.Why), j.Why)
	}
	if (j.Outcome == job.OutcomeDone) != (j.Why == "") {
		t.Errorf("%+v", j)
	}
}

func TestOutcomeCounts(t *testing.T) {
	t.Parallel()
	var sum job.Counts
	for _, o := range []job.Outcome{
		job.OutcomeDone, job.OutcomeInvalid, job.OutcomeTruncated, job.OutcomeRefused, job.OutcomeFailed, job.OutcomeFailed,
	} {
		sum = sum.Add(o.Counts())
	}
	if want := (job.Counts{Done: 1, Invalid: 1, Truncated: 1, Refused: 1, Failed: 2}); sum != want {
		t.Errorf("%+v", sum)
	}
}

// FuzzJudge: of any two texts there is an outcome, and a bounded reason.
func FuzzJudge(f *testing.F) {
	for _, seed := range []string{
		answered, finished("SAFETY", "STOP"), `{"promptFeedback":{"blockReason":"SAFETY"}}`, `{"code":3}`, `"\ud800"`,
		`{`, ``,
		`{"candidates":[{"content":{"parts":[{"text":"{\"a\":1e999999999}"}]},"finishReason":"STOP"}],"usageMetadata":{}}`,
	} {
		f.Add(seed, "")
		f.Add("", seed)
	}
	request := json.RawMessage(`{"generationConfig":{"responseSchema":{"type":"OBJECT","properties":{"a":{"type":"NUMBER",
		"minimum":1}}}}}`)
	valid, err := check.NewChecks("schema").Of(request)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, response, failure string) {
		checkWhy(t, job.Judge(json.RawMessage(response), json.RawMessage(failure), valid))
	})
}
