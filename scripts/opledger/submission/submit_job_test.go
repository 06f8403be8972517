package submission_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// lines are that many requests.
func lines(requests int) string {
	var text strings.Builder
	for i := range requests {
		fmt.Fprintf(&text, `{"key":"review-%d","request":{"contents":[{"role":"user","parts":[{"text":"Good?"}]}]}}`+"\n", i)
	}
	return text.String()
}

// inputFile writes an input, and returns its path.
func inputFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// jobArgs is a command line that submits an input.
func jobArgs(input string, more ...string) []string {
	return append([]string{"submit", "job", input, "--id", "nightly", "--model", "gemini-3.5-flash"}, more...)
}

// readJob reads a job and its record.
func readJob(t *testing.T, f commandtest.File) (j ledger.StoredJob, rec operation.Record) {
	t.Helper()
	f.With(func(ctx context.Context, l *ledger.Ledger) (err error) {
		if j, err = l.Jobs.Read(ctx, "jobs/nightly"); err == nil {
			rec, err = l.Operations.Read(ctx, "jobs/nightly")
		}
		return err
	})
	return j, rec
}

// TestSubmitJob: a job needs no API key; the same again is known and creates nothing, and its input may come
// another way [J1].
func TestSubmitJob(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	input := inputFile(t, "reviews.jsonl", lines(25))
	options := []string{
		"--max-requests-per-batch", "10", "--max-attempts", "2", "--job-kind", "reviews", "--metadata", `{"day":"23"}`,
		"--retry-on", "invalid,truncated", "--validate", "json", "--max-failures", "1%", "--stop-after", "5",
		"--max-bytes-per-batch", "1MiB", "--max-batches", "3", "--pilot", "5", "--pilot-failures", "1",
	}
	s := commandtest.Run(t, variables, jobArgs(input, options...)...).Want(t, terminal.ExitDone)
	if want := "jobs/nightly: 25 requests, 3 batches, about 350 input tokens; accepted\n"; s.Out != want {
		t.Errorf("%q, want %q", s.Out, want)
	}
	j, rec := readJob(t, f)
	if want := (job.Options{
		Model: "gemini-3.5-flash", MaxRequestsPerBatch: 10, MaxBytesPerBatch: 1 << 20, MaxAttempts: 2, MaxBatches: 3,
		RetryOn: []string{"invalid", "truncated"}, Validate: "json", MaxFailures: "1%", StopAfter: "5",
		Pilot: 5, PilotFailures: "1",
	}); len(want.Differences(j.Options)) > 0 {
		t.Errorf("%+v, want %+v", j.Options, want)
	}
	if j.JobKind != "reviews" || string(rec.Metadata) != `{"day":"23"}` || !j.Input.Checked || j.Input.Requests != 25 {
		t.Errorf("%+v, metadata %s", j.Job, rec.Metadata)
	}
	if _, err := os.Stat(filepath.Join(f.Path+".jobs", j.Input.Object)); err != nil {
		t.Errorf("the input is not stored: %v", err)
	}
	commandtest.Answer(t, variables, lines(25), jobArgs("-", options...)...).Want(t, terminal.ExitDone).Says(t,
		"about 350 input tokens; known, ")
	var again struct {
		Job     progress.Progress
		Created bool
		Batches int
	}
	s = commandtest.Run(t, variables, jobArgs(input, append(options, "--json")...)...).Want(t, terminal.ExitDone)
	commandtest.OneObject(t, s.Out, &again)
	if again.Created || again.Batches != 3 || again.Job.Key != "jobs/nightly" || again.Job.Open != 25 {
		t.Errorf("%+v", again)
	}
	if after, _ := readJob(t, f); after.Input != j.Input || !after.CreatedAt.Equal(j.CreatedAt) {
		t.Errorf("%+v, it was %+v", after.Job, j.Job)
	}
}

// TestSubmitJobDiffers: an id that belongs to another job is refused with both digests, or the options that
// differ, and the input is not stored [J1].
func TestSubmitJobDiffers(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	input := inputFile(t, "reviews.jsonl", lines(2))
	commandtest.Run(t, variables, jobArgs(input)...).Want(t, terminal.ExitDone)
	j, _ := readJob(t, f)
	other := inputFile(t, "other.jsonl", lines(3))
	said := commandtest.Run(t, variables, jobArgs(other)...).Want(t, terminal.ExitFailed, "its input has the SHA-256 "+
		j.Input.SHA256, ", this one ", "give this one another id").Complaint(t)
	if strings.Count(said, "submitting jobs/nightly") != 1 {
		t.Error(said)
	}
	commandtest.Run(t, variables, jobArgs(input, "--max-attempts", "2")...).Want(t, terminal.ExitFailed,
		"the input is the same, and these options differ: maxAttempts").Complaint(t)
	stored, err := os.ReadDir(filepath.Join(f.Path+".jobs", "nightly"))
	if digests := 0; err == nil {
		for _, entry := range stored {
			if entry.IsDir() {
				digests++
			}
		}
		if digests != 1 {
			t.Errorf("%v is stored", stored)
		}
	} else {
		t.Error(err)
	}
}

// TestSubmitJobDryRun: a dry run reads no ledger and creates nothing.
func TestSubmitJobDryRun(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	input := inputFile(t, "reviews.jsonl", lines(25))
	s := commandtest.Run(t, variables, jobArgs(input, "--dry-run", "--max-requests-per-batch", "10")...).Want(t,
		terminal.ExitDone)
	want := "jobs/nightly: 25 requests, 3 batches, about 350 input tokens, 2.2 kB; nothing was created\n" +
		"it would send at most 75 requests: each at most 3 times\n"
	if s.Out != want || s.Err != "" {
		t.Errorf("%q, want %q; %s", s.Out, want, s.Err)
	}
	commandtest.Run(t, variables, jobArgs(input, "--dry-run", "--pilot", "7")...).Want(t, terminal.ExitDone).Says(t,
		"25 requests, 2 batches, ", "\nfirst 7 requests; the rest if at most 5% of them are not done\n")
	quota := append(variables, "OPLEDGER_ENQUEUED_TOKENS=other=7 gemini-3.5-flash=1000")
	commandtest.Run(t, quota, jobArgs(input, "--dry-run")...).Want(t, terminal.ExitDone).Says(t,
		"25 requests, 4 batches, ") // each of a tenth of the quota
	commandtest.Run(t, quota, jobArgs(input, "--dry-run", "--pilot", "20")...).Want(t, terminal.ExitDone).Says(t,
		"\nfirst 7 requests; ", "\nthe pilot has 7 requests, not 20: no more fit into one batch, by --max-bytes-per-batch "+
			"or OPLEDGER_ENQUEUED_TOKENS\n")
	var told struct{ Requests, Bytes, Tokens, Batches, MostSent int64 }
	s = commandtest.Run(t, variables, jobArgs(input, "--dry-run", "--json", "--max-attempts", "1")...)
	commandtest.OneObject(t, s.Want(t, terminal.ExitDone).Out, &told)
	if told.Requests != 25 || told.Bytes != int64(len(lines(25))) || told.Batches != 1 || told.MostSent != 25 {
		t.Errorf("%+v", told)
	}
	if left, err := filepath.Glob(f.Path + "*"); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestSubmitJobPrice: with a price of its model a job says what it will cost, before and at its submission, and keeps
// the price; without one there is no money.
func TestSubmitJobPrice(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	input := inputFile(t, "reviews.jsonl", lines(2000)) // 28,000 tokens
	store := []string{"OPLEDGER_STORE=" + f.Store()}
	priced := append(store, "OPLEDGER_PRICES=other=1/1 gemini-3.5-flash=0.5/2.5")
	const line = "\nestimated: $0.01 for the input, and $0.50 for each 100 tokens of output per request, "
	commandtest.Run(t, priced, jobArgs(input, "--dry-run")...).Want(t, terminal.ExitDone).Says(t, line)
	if s := commandtest.Run(t, store, jobArgs(input, "--dry-run")...); strings.Contains(s.Out, "$") {
		t.Errorf("without a price: %s", s.Out)
	}
	commandtest.Run(t, priced, jobArgs(input)...).Want(t, terminal.ExitDone).Says(t, "; accepted"+line)
	if j, _ := readJob(t, f); j.Price == nil || *j.Price != (job.Price{Input: 0.5, Output: 2.5}) {
		t.Errorf("%+v", j.Price)
	}
	commandtest.Run(t, append(store, "OPLEDGER_PRICES=x"), jobArgs(input)...).Want(t, terminal.ExitUsage,
		`OPLEDGER_PRICES: "x" is not MODEL=INPUT/OUTPUT`).Complaint(t)
}

// TestSubmitJobNeedsStorage: without a place for its objects no job is accepted; on a ledger that is not there
// nothing is stored.
func TestSubmitJobNeedsStorage(t *testing.T) {
	t.Parallel()
	input := inputFile(t, "reviews.jsonl", lines(1))
	commandtest.Run(t, []string{"GOOGLE_CLOUD_PROJECT=p", "OPLEDGER_STORE=firestore"}, jobArgs(input)...).Want(t,
		terminal.ExitUsage, "OPLEDGER_JOB_STORAGE: it is not set").Complaint(t)
	f := commandtest.NewFile(t)
	commandtest.Run(t, []string{"OPLEDGER_STORE=" + f.Store()}, jobArgs(input)...).Want(t, terminal.ExitUnread,
		"there is no ledger in").Complaint(t)
	if _, err := os.Stat(f.Path + ".jobs"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was stored: %v", err)
	}
}

// TestEmbed: a job of embeddings is a batch of embeddings, and each answer with a vector is done.
func TestEmbed(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	served := commandtest.Serving(t, nil, "--simulate", "--faults", "none", "--speed", "1000", "--store", f.Store())
	defer served.Stop()
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	input := inputFile(t, "texts.jsonl", `{"key":"a","request":{"content":{"parts":[{"text":"Hello"}]}}}`+"\n")
	commandtest.Run(t, variables, jobArgs(input)...).Want(t, terminal.ExitUsage, "make a job of embeddings").Complaint(t)
	commandtest.Run(t, variables, jobArgs(input, "--embed")...).Want(t, terminal.ExitDone)
	commandtest.Run(t, variables, jobArgs(input, "--embed", "--validate", "json", "--dry-run")...).Want(t,
		terminal.ExitUsage, "--validate: an embedding is not checked").Complaint(t)
	commandtest.Run(t, variables, "wait", "jobs/nightly", "--timeout", "1m").Want(t, terminal.ExitDone)
	commandtest.Run(t, variables, "results", "jobs/nightly").Want(t, terminal.ExitDone).Says(t,
		`{"key":"a","response":{"embedding":{"values":[`, `"outcome":"done"`)
	commandtest.Run(t, variables, "show", "jobs/nightly").Want(t, terminal.ExitDone).Says(t, "-flash, embeddings")
}

// TestCancelAfterAsks: batches that Gemini may still be working on are cancelled only where the operator has agreed.
func TestCancelAfterAsks(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables, input := []string{"OPLEDGER_STORE=" + f.Store()}, inputFile(t, "a.jsonl", lines(2))
	submit := func(in, from, after string, more ...string) commandtest.Said {
		return commandtest.Answer(t, variables, in, append(jobArgs(from, "--cancel-after", after), more...)...)
	}
	for _, after := range []string{"1s", "999ms", "-1ms"} {
		submit("", input, after).Want(t, terminal.ExitUsage, "--cancel-after: it must be from 60").Complaint(t)
	}
	submit("n\n", input, "2h").Want(t, terminal.ExitFailed, "has run for 2h0m0s is cancelled", "nothing was submitted")
	submit(lines(2), "-", "2h").Want(t, terminal.ExitUsage, "stdin has the input: pass --yes").Complaint(t)
	submit("y\n", input, "2h").Want(t, terminal.ExitDone).Says(t, "; accepted")
	submit("", input, "2h", "--yes").Want(t, terminal.ExitDone).Says(t, "; known")
	if j, _ := readJob(t, f); j.Options.CancelAfterSeconds != 7200 {
		t.Errorf("%+v", j.Options)
	}
	submit("", input, "24h", "--id", "another").Want(t, terminal.ExitDone).Says(t, "; accepted")
}

// TestSubmitJobLeavesSteps: a command with all settings but the API key leaves the steps of a job to serve, and does
// not try them in vain: each would have to wait for its next attempt.
func TestSubmitJobLeavesSteps(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := []string{"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_EFFECTS=[{name: note, do: log, on: [SUCCEEDED]}]"}
	s := commandtest.Run(t, variables, jobArgs(inputFile(t, "reviews.jsonl", lines(1)))...).Want(t, terminal.ExitDone)
	if !strings.Contains(s.Err, "wait for its next sweep") {
		t.Errorf("it says %q", s.Err)
	}
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		due, err := l.Effects.Due(ctx, time.Now().Add(time.Hour), ledger.Cursor{}, 10)
		if err == nil && (len(due.Items) != 1 || due.Items[0].Effect.Name != job.StepSplit || due.Items[0].Effect.Fence > 0) {
			t.Errorf("due are %+v", due.Items)
		}
		return err
	})
}
