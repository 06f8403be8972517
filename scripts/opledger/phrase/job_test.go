package phrase_test

import (
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/operation"
)

// TestProgress: one line says how far a job is, and what it waits for.
func TestProgress(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	running := progress.Progress{
		State: operation.Pending, Phase: job.Running, Batches: progress.Batches{Total: 13, Done: 12}, Round: 2,
		Options: job.Options{MaxAttempts: 3}, Counts: job.Counts{Done: 119_871, Refused: 80}, Open: 49,
		Usage: job.Usage{Input: 46_000_000, Output: 200_000, Cached: 9_000_000},
	}
	with := func(change func(*progress.Progress)) progress.Progress {
		p := running
		change(&p)
		return p
	}
	const line = "batches 12 of 13, round 2 of 3 · done 119,871 · refused 80 · open 49 · 46.2 M tokens"
	for _, c := range []struct {
		progress progress.Progress
		want     string
	}{
		{running, line},
		{with(func(p *progress.Progress) { p.Counts = job.Counts{Invalid: 1, Truncated: 2, Failed: 3000} }),
			"batches 12 of 13, round 2 of 3 · done 0 · failed 3,000 · invalid 1 · truncated 2 · open 49 · 46.2 M tokens"},
		{with(func(p *progress.Progress) { p.Phase = job.Finishing }), line + " · the results are merged"},
		{with(func(p *progress.Progress) { p.State, p.Phase = operation.Succeeded, job.Ended }),
			strings.Replace(line, "batches 12 of 13, round", "batches 12, and 1 refused, released or not started; round", 1)},
		{with(func(p *progress.Progress) { p.Cancelled = &operation.Decided{} }), line + " · it is being cancelled"},
		{with(func(p *progress.Progress) { p.Stopped = "7 were\x1b not done" }), line + ` · stopped: 7 were\x1b not done`},
		{with(func(p *progress.Progress) {
			p.Waiting = &progress.Waiting{Reason: job.WaitsForQuota, Since: noon}
		}), line + " · waits for Gemini's quota since " + phrase.LocalTime(noon)},
		{with(func(p *progress.Progress) {
			p.Key, p.Waiting = "jobs/a", &progress.Waiting{Reason: job.WaitsForResume, Since: noon}
			p.Hold = &job.Hold{
				Reason: job.HeldByOperator, Decided: operation.Decided{By: "kim", Why: "the\x1b quota", At: noon},
			}
		}), line + " · paused " + phrase.LocalTime(noon) + ` by kim: the\x1b quota; opledger resume jobs/a --reason TEXT ` +
			"lets it go on"},
		{with(func(p *progress.Progress) {
			p.Key = "jobs/a"
			p.Hold = &job.Hold{
				Reason: job.HeldByReferences, Decided: operation.Decided{By: "opledger", Why: "7 requests", At: noon},
			}
		}), line + " · references " + phrase.LocalTime(noon) + " by opledger: 7 requests; opledger resume jobs/a " +
			"--reason TEXT lets it go on, without the requests of what is missing then"},
		{with(func(p *progress.Progress) {
			p.Waiting = &progress.Waiting{Reason: job.WaitsForBatch, Since: noon, Used: 80, Most: 80}
		}), line + " · waits for a free batch (80 batches run of all jobs, of at most 80) since " + phrase.LocalTime(noon)},
		{with(func(p *progress.Progress) {
			p.Waiting = &progress.Waiting{
				Reason: job.WaitsForTokens, Since: noon, Used: 2_900_000, Most: 3_000_000, Model: "m\x1b", Tokens: 299_000,
			}
		}), line + ` · waits for free tokens of its model's quota (2.9 M tokens of m\x1b are reserved, of 3.0 M tokens; ` +
			"the next batch has about 299,000 tokens) since " + phrase.LocalTime(noon)},
		{progress.Progress{Phase: job.Splitting, Batches: progress.Batches{Total: 3}, Open: 5},
			"the input is cut into batches, 3 so far · done 0 · open 5"},
	} {
		if got := phrase.Progress(c.progress, ""); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := phrase.GoesOn("jobs/a", job.HeldByCost, ""); got !=
		"opledger change jobs/a --max-cost DOLLARS --reason TEXT lets it go on" {
		t.Errorf("held by cost: %s", got)
	}
	if got := phrase.JobState(running); got != "RUNNING" {
		t.Errorf("it is %s", got)
	}
	if got := phrase.JobState(with(func(p *progress.Progress) { p.State = operation.Failed })); got != "FAILED" {
		t.Errorf("ended, it is %s", got)
	}
}

// TestNumbers: large numbers are readable.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"0": phrase.Number(0), "999": phrase.Number(999), "1,000": phrase.Number(1000), "1,234,567": phrase.Number(1234567),
		"1 batch": phrase.Amount(1, "batch"), "12 batches": phrase.Amount(12, "batch"),
		"$0.00": phrase.Dollars(0), "less than $0.01": phrase.Dollars(8e-5), "$1,234.50": phrase.Dollars(1234.5),
		"about $0.01":      phrase.AboutDollars(0.01),
		"120,000 requests": phrase.Amount(120_000, "request"), "2 deliveries": phrase.Amount(2, "delivery"),
		"1 token": phrase.Tokens(1), "999,999 tokens": phrase.Tokens(999_999), "1.0 M tokens": phrase.Tokens(1_000_000),
		"about 1 input token": phrase.EstimatedTokens(1), "about 9,999 input tokens": phrase.EstimatedTokens(9999),
		"about 12,000 input tokens":        phrase.EstimatedTokens(12_345),
		"about 1.5 million input tokens":   phrase.EstimatedTokens(1_499_999),
		"about 31 million input tokens":    phrase.EstimatedTokens(31_400_000),
		"about 1,500 million input tokens": phrase.EstimatedTokens(1_500_000_000),
		"1 byte":                           phrase.Bytes(1), "999 bytes": phrase.Bytes(999), "1.0 kB": phrase.Bytes(1000),
		"1.0 MB": phrase.Bytes(999_999), "200.0 MB": phrase.Bytes(200_000_000), "2.1 GB": phrase.Bytes(2 << 30),
		"5000.0 TB": phrase.Bytes(5_000_000_000_000_000),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestWaitsFor: each reason to wait has words.
func TestWaitsFor(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, w := range []job.Wait{
		"", job.WaitsForQuota, job.WaitsForAccess, job.WaitsForIntent, job.WaitsForGemini, job.WaitsForResume,
		job.WaitsForStorage, job.WaitsForBatch, job.WaitsForTokens,
	} {
		words := phrase.WaitsFor(w)
		if words == string(w) || seen[words] {
			t.Errorf("%q: %q", w, words)
		}
		seen[words] = true
	}
}
