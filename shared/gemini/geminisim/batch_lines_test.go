package geminisim_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// A result is a line of a result file, in the SDK's types.
type result struct {
	Key      string
	Response *genai.GenerateContentResponse
	Error    *genai.JobError
}

// judge says what became of the request of a line, as a reader of results sees it.
func judge(line string) (r result, what string) {
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return r, "unreadable"
	}
	switch {
	case r.Error != nil && r.Response != nil:
		return r, "both"
	case r.Error != nil && (*r.Error.Code == 400 || *r.Error.Code == 3):
		return r, "refused"
	case r.Error != nil:
		return r, "error"
	case r.Response == nil:
		return r, "null"
	case r.Response.PromptFeedback != nil && len(r.Response.Candidates) == 0:
		return r, "blocked"
	}
	reason := r.Response.Candidates[0].FinishReason
	switch {
	case reason == genai.FinishReasonMaxTokens:
		return r, "truncated"
	case reason != genai.FinishReasonStop:
		return r, "safety"
	case json.Valid([]byte(r.Response.Text())):
		return r, "json"
	}
	return r, "done"
}

// TestLineFaults: each fault makes its own kind of line, in several forms, which counters and batchStats
// agree with.
func TestLineFaults(t *testing.T) {
	t.Parallel()
	const n = 60
	for what, c := range map[string]struct {
		faults    geminisim.Faults
		counter   func(geminisim.Stats) int
		responses int
		forms     []string // parts of lines, each of which some line has
	}{
		"done": {geminisim.Faults{}, func(geminisim.Stats) int { return n }, n,
			[]string{`"STOP"`, `thoughtsToken`, `cachedC`}},
		"error": {geminisim.Faults{FailedItems: 1}, func(s geminisim.Stats) int { return s.ItemErrors }, 0,
			[]string{`"code":13`}},
		"error ": {geminisim.Faults{ItemErrors: 1}, func(s geminisim.Stats) int { return s.ItemErrors }, 0,
			[]string{`:429,`, `:499,`, `:500,`, `:503,`, `:13,`, `:14,`}},
		"refused": {geminisim.Faults{RefusedItems: 1}, func(s geminisim.Stats) int { return s.RefusedItems }, 0,
			[]string{`"code":400`, `"code":3,`}},
		"blocked": {geminisim.Faults{Blocked: 1}, func(s geminisim.Stats) int { return s.Blocked }, n,
			[]string{`"SAFETY"`, `"OTHER"`, `"BLOCKLIST"`, `"PROHIBITED_CONTENT"`, `"usageMetadata"`}},
		"safety": {geminisim.Faults{Safety: 1}, func(s geminisim.Stats) int { return s.Safety }, n,
			[]string{`"SAFETY"`, `"RECITATION"`, `"PROHIBITED_CONTENT"`}},
		"truncated": {geminisim.Faults{Truncated: 1}, func(s geminisim.Stats) int { return s.Truncated }, n, nil},
		"done ":     {geminisim.Faults{BadJSON: 1}, func(s geminisim.Stats) int { return s.BadJSON }, n, nil},
		"null": {geminisim.Faults{NullLines: 1}, func(s geminisim.Stats) int { return s.NullLines }, 0,
			[]string{`"response":null`}},
		"unreadable": {geminisim.Faults{UnreadableLines: 1}, func(s geminisim.Stats) int { return s.UnreadableLines }, n,
			[]string{"html", "key"}},
	} {
		sim, client, _ := serve(t, geminisim.Config{Faults: c.faults})
		job := ask(t, sim, client, "job", geminisim.StateSucceeded, asks(n)...)
		lines := download(t, sim, job.Name)
		for i, line := range lines {
			if _, got := judge(line); got != strings.TrimSpace(what) {
				t.Errorf("line %d is %s, want %s: %s", i+1, got, what, line)
			}
		}
		for _, form := range c.forms {
			if !strings.Contains(strings.Join(lines, "\n"), form) {
				t.Errorf("%s: no line has %s", what, form)
			}
		}
		stats := show(t, sim, job.Name).Metadata.BatchStats
		if counted := c.counter(sim.Stats()); len(lines) != n || counted != n {
			t.Errorf("%s: %d lines, %d counted", what, len(lines), counted)
		}
		wantStats(t, what, stats, n, c.responses)
	}
}

func wantStats(t *testing.T, what string, stats map[string]string, requests, responses int) {
	t.Helper()
	count := func(name string) (n int) {
		if text := stats[name]; text != "" {
			if err := json.Unmarshal([]byte(text), &n); err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	if count("requestCount") != requests || count("successfulRequestCount") != responses ||
		count("failedRequestCount") != requests-responses {
		t.Errorf("%s: %v, want %d of %d", what, stats, responses, requests)
	}
}

// TestMissingLines: a request may have no line at all.
func TestMissingLines(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Faults: geminisim.Faults{MissingLines: 0.5}})
	job := ask(t, sim, client, "job", geminisim.StateSucceeded, asks(60)...)
	lines := download(t, sim, job.Name)
	if missing := sim.Stats().MissingLines; missing == 0 || len(lines) != 60-missing {
		t.Errorf("%d lines, %d missing", len(lines), missing)
	}
	wantStats(t, "missing", show(t, sim, job.Name).Metadata.BatchStats, 60, len(lines))
}

// TestDoubledAndForeignLines: a key may come twice with two texts, far from each other, and one may come
// that was not asked for.
func TestDoubledAndForeignLines(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Faults: geminisim.Faults{DoubledLines: 0.3, ForeignLines: 0.3}})
	job := ask(t, sim, client, "job", geminisim.StateSucceeded, asks(60)...)
	texts, first := map[string][]string{}, map[string]int{}
	for i, line := range download(t, sim, job.Name) {
		r, what := judge(line)
		if what != "done" {
			t.Errorf("%s: %s", what, line)
		}
		if _, ok := first[r.Key]; !ok {
			first[r.Key] = i
		} else if i < 60 {
			t.Errorf("%s comes again at once", r.Key)
		}
		texts[r.Key] = append(texts[r.Key], r.Response.Text())
	}
	doubled, foreign := 0, 0
	for key, of := range texts {
		if len(of) > 1 {
			doubled++
			if len(of) > 2 || of[0] == of[1] {
				t.Errorf("%s: %q", key, of)
			}
		}
		if !strings.HasPrefix(key, "review-") {
			foreign++
		}
	}
	if st := sim.Stats(); doubled == 0 || foreign == 0 || st.DoubledLines != doubled || st.ForeignLines != foreign ||
		len(texts) != 60+foreign {
		t.Errorf("%d doubled, %d foreign, %d keys: %+v", doubled, foreign, len(texts), st)
	}
}

// TestJSONResults: who asks for JSON gets it, but for BadJSON.
func TestJSONResults(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"key":"type","request":{"generationConfig":{"responseMimeType":"application/json"}}}`,
		`{"key":"schema","request":{"generationConfig":{"responseSchema":{"type":"OBJECT"}}}}`,
	}
	for bad, want := range map[float64]string{0: "json", 1: "done"} {
		sim, client, _ := serve(t, geminisim.Config{Faults: geminisim.Faults{BadJSON: bad}})
		job := ask(t, sim, client, "job", geminisim.StateSucceeded, lines...)
		for _, line := range download(t, sim, job.Name) {
			r, got := judge(line)
			if got != want || !strings.Contains(r.Response.Text(), "Result of "+r.Key) {
				t.Errorf("%s, want %s: %s", got, want, line)
			}
			if want == "json" && r.Response.Text() != `{"answer":"Result of `+r.Key+`"}` {
				t.Error(r.Response.Text())
			}
		}
	}
}

// TestUsage: the counts of tokens add up, and go by the size of the request.
func TestUsage(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	lines := append(asks(40), `{"key":"long","request":{"x":"`+strings.Repeat("y", 4000)+`"}}`)
	job := ask(t, sim, client, "job", geminisim.StateSucceeded, lines...)
	var thoughts, cached []int32
	for _, line := range download(t, sim, job.Name) {
		r, _ := judge(line)
		u := r.Response.UsageMetadata
		if u.PromptTokenCount < 1 || u.CandidatesTokenCount < 1 || u.CachedContentTokenCount > u.PromptTokenCount ||
			u.TotalTokenCount != u.PromptTokenCount+u.CandidatesTokenCount+u.ThoughtsTokenCount ||
			(u.PromptTokenCount > 1000) != (r.Key == "long") {
			t.Errorf("%s: %+v", r.Key, u)
		}
		thoughts, cached = append(thoughts, u.ThoughtsTokenCount), append(cached, u.CachedContentTokenCount)
	}
	for name, counts := range map[string][]int32{"thoughts": thoughts, "cached": cached} {
		if slices.Min(counts) != 0 || slices.Max(counts) == 0 {
			t.Errorf("%s: all or none have them: %v", name, counts)
		}
	}
}
