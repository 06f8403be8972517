package local

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/job"
)

// TestResultsAudit: a request without a line, one with two, and a line with the answer to another request are
// each found.
func TestResultsAudit(t *testing.T) {
	t.Parallel()
	of := func(key, answer string) string {
		return fmt.Sprintf(`{"key":%q,"response":{"text":"Result of %s, sent 1 times."},"outcome":"done","attempts":1}`+"\n",
			key, answer)
	}
	const failed = `{"key":"c","outcome":"failed","why":"it has no line","attempts":3}` + "\n"
	for name, tc := range map[string]struct {
		lines string
		want  JobSummary
	}{
		"each once":        {of("a", "a") + of("b", "b") + failed, JobSummary{}},
		"one is lost":      {of("a", "a") + failed, JobSummary{JobLost: 1}},
		"one twice":        {of("a", "a") + of("b", "b") + failed + of("a", "a"), JobSummary{JobTwice: 1}},
		"another's answer": {of("a", "b") + of("b", "ab") + failed, JobSummary{JobWrong: 2}},
		"a foreign key":    {of("a", "a") + of("b", "b") + failed + of("d", "d"), JobSummary{JobWrong: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got JobSummary
			r := resultsAudit{summary: &got, lines: map[string]int{"a": 0, "b": 0, "c": 0}}
			for line := range strings.Lines(tc.lines) {
				if err := r.line([]byte(line)); err != nil {
					t.Fatal(err)
				}
			}
			r.end()
			if got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
			if lines := int64(strings.Count(tc.lines, "\n")); r.counts.Final() != lines || r.counts.Failed != 1 {
				t.Errorf("%+v of %d lines", r.counts, lines)
			}
		})
	}
}

// TestJobsInput: the input of a job has each key that the audit expects once, none has those of another job,
// and each batch of a small job has a share.
func TestJobsInput(t *testing.T) {
	t.Parallel()
	jobs := Jobs{Count: 2, Requests: 10}
	if most := jobs.options().MaxRequestsPerBatch; most != 3 {
		t.Errorf("a batch has %d requests, want 3 of 10", most)
	}
	if most := (Jobs{Requests: 1_000_000}).options().MaxRequestsPerBatch; most != job.DefaultMaxRequestsPerBatch {
		t.Errorf("a batch of a large job has %d requests", most)
	}
	seen := map[string]bool{}
	for _, j := range jobs.of(7) {
		var input strings.Builder
		if err := j.input(&input); err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(input.String()) {
			request, err := job.SplitLine([]byte(strings.TrimSuffix(line, "\n")))
			if err != nil || request.Key != j.request(n) || seen[request.Key] {
				t.Fatalf("%s: %q, %v", line, request.Key, err)
			}
			seen[request.Key] = true
			n++
		}
		if n != jobs.Requests {
			t.Errorf("%s has %d requests", j.key, n)
		}
	}
}
