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

// TestJobStanding: each reason for which a job starts nothing has a title of its own, a cause, what follows and what to
// do; tokens, batches and storage have their own numbers. A job that goes on has no standing.
func TestJobStanding(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	waits := func(w progress.Waiting) progress.Progress {
		w.Since = noon
		return progress.Progress{Phase: job.Running, Waiting: &w}
	}
	holds := func(reason job.HoldReason, why string) progress.Progress {
		return progress.Progress{
			Key: "jobs/a", Phase: job.Running, Open: 360, Batches: progress.Batches{Running: 2},
			Hold: &job.Hold{Reason: reason, Decided: operation.Decided{At: noon, By: "kim", Why: why}},
		}
	}
	about := holds("another", "a reason")
	about.Batches = progress.Batches{Running: 10, Starting: 10}
	seen := map[string]bool{}
	for _, test := range []struct {
		progress progress.Progress
		tone     phrase.Tone
		says     []string
	}{
		{waits(progress.Waiting{
			Reason: job.WaitsForTokens, Used: 2_900_000, Most: 3_000_000, Model: "m\x1b", Tokens: 299_000,
		}), phrase.Busy, []string{`m\x1b`, "3.0 M tokens", "2,900,000 of them", "about 299,000", "pause another job"}},
		{waits(progress.Waiting{Reason: job.WaitsForBatch, Used: 80, Most: 80}), phrase.Busy,
			[]string{"80 batches of all jobs run, and at most 80 may", "raise OPLEDGER_MAX_BATCHES"}},
		{waits(progress.Waiting{Reason: job.WaitsForStorage}), phrase.Warn, []string{"20 GB", "tried again every minute"}},
		{waits(progress.Waiting{Reason: job.WaitsForQuota}), phrase.Warn, []string{"429", "asked again every minute"}},
		{waits(progress.Waiting{Reason: job.WaitsForAccess}), phrase.Bad, []string{"every five minutes", "GEMINI_API_KEY"}},
		{waits(progress.Waiting{Reason: job.WaitsForGemini}), phrase.Warn, []string{"within five minutes"}},
		{waits(progress.Waiting{Reason: job.WaitsForIntent}), phrase.Warn, []string{"nothing is paid twice"}},
		{holds(job.HeldByOperator, "the quota"), phrase.Warn, []string{"kim paused it at ", ": the quota.",
			"2 batches that run go on, and are collected and paid", "Resume the job"}},
		{holds(job.HeldByPilot, "9 of 20 were not done"), phrase.Bad, []string{"9 of 20 were not done. It has ",
			"The other 360 requests were not sent, and cost nothing", "Read the first failures"}},
		{holds(job.HeldByReferences, "7 requests name files"), phrase.Bad, []string{"7 requests name files. It ",
			"end refused. 2 batches that", "Upload them again under the same names"}},
		{holds(job.HeldByCost, "about $5"), phrase.Bad, []string{"About $5. ", "opledger change jobs/a --max-cost DOLLARS"}},
		{about, phrase.Bad, []string{"None of its batches runs. Of 10 batches about to start, those that Gemini has " +
			"created go on, too; the others wait."}},
		{holds("newer\x1b", "a later reason"), phrase.Bad, []string{`newer\x1b`, "A later reason. "}},
	} {
		s := phrase.JobStanding(test.progress, "")
		if s == nil || seen[s.Title] || s.Tone != test.tone || s.Means == "" || s.Do == "" {
			t.Fatalf("%+v", s)
		}
		seen[s.Title] = true
		all := strings.Join([]string{s.Title, s.Cause, s.Means, s.Do}, "\n")
		for _, words := range append(test.says, phrase.LocalTime(noon)) {
			if !strings.Contains(all, words) {
				t.Errorf("without %q: %s", words, all)
			}
		}
	}
	over := holds(job.HeldByPilot, "")
	over.State = operation.Cancelled
	resume := waits(progress.Waiting{Reason: job.WaitsForResume})
	for _, p := range []progress.Progress{{Phase: job.Running}, over, resume} {
		if s := phrase.JobStanding(p, ""); s != nil {
			t.Errorf("%+v: %+v", p, s)
		}
	}
}
