package steps_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/job/steps"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// started runs a job until its batches have ended and are reported, and returns the first part's batch.
func (w *world) started(lines []string, options job.Options) operation.Key {
	w.Helper()
	w.submit(lines, options)
	w.drain()
	w.learn()
	return w.part(1).Batch
}

// TestForeignInput: a batch that shows another input than the part's stops the part. Nothing of it is given
// out, and the job does not end [J2, J6].
func TestForeignInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	w.sim.ScriptPrefix("opledger:"+string(first), geminisim.Script{Faults: &geminisim.Faults{ForeignInput: 1}})
	batch := w.started(requests(4), job.Options{MaxRequestsPerBatch: 2})
	w.drain()
	for range 12 {
		w.later(interval)
	}
	e := w.effectOf(batch, job.StepCollect)
	if e.State != ledger.EffectDead || !strings.Contains(e.LastError, "which is none of "+string(first)) {
		t.Errorf("the collect is %s: %s", e.State, e.LastError)
	}
	if j := w.job(); j.Phase != job.Running || j.Counts.Done != 2 || j.Batches != 1 || w.part(1).State != job.Started {
		t.Errorf("the job is %+v", j)
	}
}

// TestStateDiffers: a batch that has another terminal state at Gemini than in the ledger stops the part [J6].
func TestStateDiffers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	batch := w.started(requests(4), job.Options{})
	if err := w.sim.SetState(string(batch), geminisim.StateFailed); err != nil {
		t.Fatal(err)
	}
	w.drain()
	e := w.effectOf(batch, job.StepCollect)
	if e.State != ledger.EffectDead || !strings.Contains(e.LastError, "FAILED at Gemini and SUCCEEDED in the ledger") {
		t.Errorf("the collect is %s: %s", e.State, e.LastError)
	}
}

// TestResultsGone: what Gemini says for a day that it does not have is lost. What was stored stands, the
// rest has failed, and other failures before do not count [J4].
func TestResultsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	batch := w.started(requests(4), job.Options{MaxAttempts: 1})
	w.answers(geminisim.OpDownload, http.StatusInternalServerError, "An internal error has occurred.")
	w.drain()
	for range 15 {
		w.later(time.Hour)
	}
	w.sim.ClearAnswers()
	w.answers(geminisim.OpDownload, http.StatusNotFound, "Requested entity was not found.")
	for range 20 {
		w.later(time.Hour)
		if p := w.part(1); p.State != job.Started {
			t.Fatalf("it was believed too early: %+v", p)
		}
	}
	for range 6 {
		w.later(time.Hour)
	}
	w.settle()
	j := w.ended()
	if j.Counts.Failed != 4 || !slices.Contains(w.alerts(), "results-lost") {
		t.Errorf("the job counts %+v", j.Counts)
	}
	if line := w.lineOf("k0001"); line.Why != "the batch has no result of this request" || line.Batch != batch {
		t.Errorf("the line is %+v", line)
	}
}

// A download hands out a body in small pieces, and calls then after some.
type download struct {
	io.ReadCloser
	left int
	then func()
}

func (d *download) Read(p []byte) (int, error) {
	if d.left--; d.left == 0 {
		d.then()
	}
	return d.ReadCloser.Read(p[:min(len(p), 500)])
}

// TestCollectGoesOn: an attempt whose process stops in the middle leaves what it stored to the next, which
// keeps that even where the result has changed. Usage is counted once [J4, J9].
func TestCollectGoesOn(t *testing.T) {
	t.Parallel()
	told, stop := context.WithCancel(t.Context())
	reads := 0
	w := newWorld(t, setting{
		sim:     geminisim.Config{Seed: 3, Faults: geminisim.Faults{RefusedItems: 0.2, MissingLines: 0.1, DoubledLines: 0.1}},
		options: func(o steps.Options) steps.Options { return o.InChunks(1000) },
		transport: func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				answer, err := next.RoundTrip(r)
				if err != nil || !strings.HasSuffix(r.URL.Path, ":download") {
					return answer, err
				}
				if reads++; reads == 1 {
					answer.Body = &download{answer.Body, 40, stop}
					return answer, nil
				}
				body, err := io.ReadAll(answer.Body)
				body = bytes.ReplaceAll(body, []byte("gemini-3.5-flash"), []byte("gemini-9.9-other"))
				answer.Body = io.NopCloser(bytes.NewReader(body))
				return answer, err
			})
		},
	})
	plain := newWorld(t, setting{sim: w.setting.sim})
	for _, one := range []*world{w, plain} {
		one.started(requests(100), job.Options{MaxAttempts: 1})
	}
	collect := ledger.Message{Operation: w.part(1).Batch, Effect: job.StepCollect}
	report, err := w.run(effect.WithStop(t.Context(), told), w.options, collect)
	if err != nil || report.Outcome != effect.Continued {
		t.Fatalf("%+v, %v", report, err)
	}
	if p := w.part(1); len(p.Final) < 2 || len(p.Seen) != len(p.Final) || p.State != job.Started {
		t.Fatalf("the part is %+v", p)
	}
	if lines, _ := w.output(files.Results); len(lines) > 0 {
		t.Errorf("%d lines are given out before all of the batch is read", len(lines))
	}
	w.settle()
	plain.settle()
	j, want := w.ended(), plain.ended()
	if j.Usage != want.Usage || j.Counts != want.Counts {
		t.Errorf("%+v with %+v, want %+v with %+v", j.Counts, j.Usage, want.Counts, want.Usage)
	}
	_, text := w.output(files.Results)
	if strings.Count(text, "gemini-3.5-flash") < 10 || !strings.Contains(text, "gemini-9.9-other") {
		t.Errorf("what was stored was not kept, or the rest not read: %s", text)
	}
	failed, _ := w.output(files.Failed)
	for _, line := range failed {
		if line.Why == "" {
			t.Errorf("%s failed without a reason", line.Key)
		}
	}
}

// TestCollectTooSlow: an attempt whose time is over before it has recorded anything has failed. It is not
// handed on for ever.
func TestCollectTooSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{transport: func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if err == nil && strings.HasSuffix(r.URL.Path, ":download") {
				<-r.Context().Done() // the time of the items is over
				answer.Body = io.NopCloser(strings.NewReader(""))
			}
			return answer, err
		})
	}})
	batch := w.started(requests(4), job.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	report, err := w.run(ctx, w.options, ledger.Message{Operation: batch, Effect: job.StepCollect})
	if err != nil || report.Outcome != effect.Failed {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestRetryOn: what is invalid or truncated is sent again where the job wants that, and is final in the last
// round; else it is final at once [J5].
func TestRetryOn(t *testing.T) {
	t.Parallel()
	for name, retryOn := range map[string][]string{"nothing": nil, "both": {"invalid", "truncated"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setting{sim: geminisim.Config{Faults: geminisim.Faults{BadJSON: 0.3, Truncated: 0.3}}})
			w.submit(requestsForJSON(60), job.Options{MaxAttempts: 2, Validate: "schema", RetryOn: retryOn})
			w.settle()
			j := w.ended()
			rounds := 1
			if retryOn != nil {
				rounds = 2
			}
			if j.Counts.Invalid == 0 || j.Counts.Truncated == 0 || j.Counts.Failed > 0 || j.Round != rounds {
				t.Errorf("round %d counts %+v", j.Round, j.Counts)
			}
			lines, _ := w.output(files.Results)
			for _, line := range lines {
				if line.Outcome != job.OutcomeDone && line.Attempts != rounds || w.sim.Sent(line.Key) != line.Attempts {
					t.Errorf("%s is %s after %d attempts, sent %d times", line.Key, line.Outcome, line.Attempts, w.sim.Sent(line.Key))
				}
			}
		})
	}
}

func requestsForJSON(n int) []string {
	lines := requests(n)
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "}}") + `],"generationConfig":{"responseMimeType":"application/json",` +
			`"responseSchema":{"type":"OBJECT","properties":{"answer":{"type":"STRING"}},"required":["answer"]}}}}`
		lines[i] = strings.Replace(lines[i], "}]}]],", "}]}],", 1)
	}
	return lines
}

// TestUnmatchedAlert: lines that are the answer to no request are kept, and alerted once for a batch [J9].
func TestUnmatchedAlert(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{sim: geminisim.Config{Faults: geminisim.Faults{DoubledLines: 1, ForeignLines: 1}}})
	w.submit(requests(4), job.Options{})
	w.settle()
	if j, alerts := w.ended(), w.alerts(); j.Counts.Unmatched != 8 || !slices.Equal(alerts, []string{"unmatched"}) {
		t.Errorf("%+v, alerts %v", j.Counts, alerts)
	}
	listed := w.running().UnmatchedJobs(w.clock.Now())
	if len(listed) != 1 || listed[0].Lines != 8 || !strings.HasSuffix(listed[0].Object, "/unmatched.jsonl") {
		t.Errorf("listed: %+v", listed)
	}
}

// TestFailedBatch: a batch that failed names no result. None is missed, and its requests are sent again.
func TestFailedBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	w.sim.Script("opledger:"+string(first), geminisim.Script{Final: geminisim.StateFailed})
	w.submit(requests(4), job.Options{})
	w.settle()
	if j, alerts := w.ended(), w.alerts(); j.Round != 2 || j.Counts.Done != 4 || len(alerts) > 0 {
		t.Errorf("round %d, %+v, alerts %v", j.Round, j.Counts, alerts)
	}
}
