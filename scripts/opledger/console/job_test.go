package console

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// jobAddresses are the pages of the jobs of a world, their parts and their batches.
var jobAddresses = []string{
	"/console/operation?key=jobs%2Fnightly", "/console/operation?key=jobs%2Fended", "/console/operation?key=jobs%2Fyoung",
	"/console/operation?key=jobs%2Fnightly%2F00002", "/console/operation?key=jobs%2Fnightly%2F00003",
	"/console/operation?key=jobs%2Fnightly%2F00004", "/console/operation?key=jobs%2Fnightly%2F00008",
	"/console/operation?key=batches%2Fnightly-2", "/console/parts?key=jobs%2Fnightly",
	"/console/intent?key=jobs%2Fnightly%2F00002", "/console/operations?collection=jobs",
	"/console/operations?collection=jobs&show=pending",
}

// TestJobPage: the page of a job says how far it is, in numbers and as a bar, what it waits for, and what its
// parts do; each leads to its batch.
func TestJobPage(t *testing.T) {
	t.Parallel()
	w := acting(t)
	page := w.get(jobAddresses[0]).Body.String()
	says(t, page, "RUNNING: batches 1 of 8, round 1 of 3 · done 9,000 · refused 70 · failed 5 · invalid 20",
		"Gemini's quota is used up (429).", "It has waited since ", "Part ", "jobs/nightly/00003", "Gemini: ", "it waits",
		"Gemini is asked again every minute.", "What to do", "Gemini refused a batch as a whole:", "INVALID_ARGUMENT",
		"Cancel the job", "80,000 requests: 9,000 done, 70 refused, 5 failed, 20 invalid, 5 truncated, 70,900 open",
		"First failures", "invalid", "20 in all", "review-<17>", "it is no JSON: <script>", "1 of 8 collected, ",
		"4 running or starting, 2 waiting to start", "at most 4 run at once", "1 of 3 at most", "900 requests",
		"2.1 M tokens: input 2,000,000 (1,000 of it cached), output 90,000, thinking 7", "gemini-3.5-flash",
		"gs://bucket/jobs", "opledger results jobs/nightly --store sqlite:demo.db", "1 line", "Batches", "STARTED",
		"nightly-2", "CONSUMED", "9,000", "nightly-1")
	for _, number := range []int{1, 2} {
		address := html.EscapeString(link("/console/operation", theKey, string(batchKey(nightly, number))))
		if !strings.Contains(page, address) {
			t.Errorf("without %s: %s", address, page)
		}
	}
	if n := strings.Count(page, "do=release"); n != 1 {
		t.Errorf("%d parts can be released, not the one that is STARTED: %s", n, page)
	}
	if strings.Contains(page, "do=lookup") || strings.Contains(page, "do=abandon") || strings.Contains(page, "All parts") {
		t.Errorf("%s", page)
	}
	says(t, w.get(jobAddresses[1]).Body.String(), "FAILED", "The job did not succeed:",
		"requests were not done, and --max-failures allows", "1 of 1 collected",
		"gs://bucket/jobs/ended/0a1b/results.jsonl, 1.2 MB", "CONSUMED")
	says(t, w.get(jobAddresses[2]).Body.String(), "the input is cut into batches", "0 so far; at most 20 run at once",
		"There is none yet: the input is being cut.")
}

// TestRedrivePage: the page of a job that has ended says how to redrive it; then each of the two leads to the other.
func TestRedrivePage(t *testing.T) {
	t.Parallel()
	w := acting(t)
	says(t, w.get(jobAddresses[1]).Body.String(), "opledger redrive jobs/ended --reason 'WHY'")
	_, err := w.Jobs.Submit(w.Context(), ledger.JobRequest{
		Key: "jobs/ended-2", Options: job.Options{Model: "gemini-3.5-flash"}, Storage: "gs://bucket/jobs",
		Input: job.Input{SHA256: "0a1c", Bytes: 100, Requests: 1, Object: "ended-2/0a1c/input.jsonl"},
		Redrive: ledger.Redriving{
			Of: ended, Outcomes: []job.Outcome{job.OutcomeFailed}, Decision: ledger.Decision{By: "ann", Why: hostile},
		},
	})
	w.do(err)
	page := w.get(jobAddresses[1]).Body.String()
	says(t, page, link("/console/operation", theKey, "jobs/ended-2"), "failed; ", " by ann: ")
	if strings.Contains(page, "opledger redrive") {
		t.Errorf("what is redriven can be redriven again: %s", page)
	}
	says(t, w.get(link("/console/operation", theKey, "jobs/ended-2")).Body.String(), "Redrives",
		jobAddresses[1])
}

// TestPartPage: the page of a part leads to its job and its batch, and the page of the batch to both. Steps
// of a job are neither rerun nor waived.
func TestPartPage(t *testing.T) {
	t.Parallel()
	w := acting(t)
	says(t, w.get(jobAddresses[3]).Body.String(), "jobs/nightly", "STARTED", "What can be done", "Release", "Part 2",
		"10,000, 1.0 kB", "batches/nightly-2", "Creations", "1", "job-start", "The part as JSON")
	says(t, w.get(jobAddresses[4]).Body.String(), "Waits for, or problem", "Gemini's quota, for 1h")
	says(t, w.get(jobAddresses[5]).Body.String(), "DROPPED", "INVALID_ARGUMENT: "+hostile)
	says(t, w.get(jobAddresses[6]).Body.String(), "PLANNED", "its turn, for ")
	batch := w.get(jobAddresses[7]).Body.String()
	says(t, batch, "It is the batch of ", "part 2", "jobs/nightly", "Only its collect runs for it")
	for _, no := range []string{"do=abandon", "It is a twin"} {
		if strings.Contains(batch, no) {
			t.Errorf("the batch of a part has %q: %s", no, batch)
		}
	}
	if done := w.get("/console/operation?key=batches%2Fnightly-1").Body.String(); strings.Contains(done, "do=rerun") {
		t.Errorf("a step can be rerun: %s", done)
	}
	twin := operation.Key("batches/twin")
	w.register(twin, "reviews", "")
	s := subject{Record: operation.Record{Key: twin, Registered: true}, Part: &job.Part{Batch: batchKey(nightly, 2)}}
	s.Record.CorrelationID = string(operation.PartKey(nightly, 2))
	if of := s.batchOf(); of == nil || of.Own != batchKey(nightly, 2) || of.Job != nightly || of.Number != 2 {
		t.Errorf("a twin: %+v", of)
	}
	own := page{file: "operation.html"}.templates()
	says(t, string(w.console.render(own, "batch-of", s.batchOf())), "It is a twin", "batches/nightly-2", "never collected")
	if answer := w.get("/console/search?q=jobs%2Fnightly%2F00002"); answer.Header().Get("Location") !=
		jobAddresses[3]+"&q=jobs%2Fnightly%2F00002" {
		t.Errorf("a part is searched for: %s", answer.Header().Get("Location"))
	}
	says(t, w.get(jobAddresses[9]).Body.String(), "announces the batch of a job", "jobs/nightly/00002")
	if answer := w.get("/console/operation?key=jobs%2Fnightly%2F00099"); answer.Code != http.StatusNotFound {
		t.Errorf("a part that does not exist: %d", answer.Code)
	}
}

// TestCancelledJob: who cancelled a job is on its page, which offers that once.
func TestCancelledJob(t *testing.T) {
	t.Parallel()
	w := acting(t)
	question := asked{do: cancelJob, key: string(nightly)}.address()
	form, other := w.question(question), w.question(question)
	form.Set("why", "wrong model")
	other.Set("why", "too late")
	says(t, w.post(form).Body.String(), "the cancellation of jobs/nightly requested by ada", "what succeeded is kept")
	page := w.get(jobAddresses[0]).Body.String()
	says(t, page, "it is being cancelled", "Cancelled", " by ada: wrong model")
	if strings.Contains(page, "do=cancel-job") {
		t.Errorf("it is offered again: %s", page)
	}
	if answer := w.post(other); answer.Code != http.StatusConflict {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// TestPausedJob: a paused job says who paused it and why, in place of what it waits for, and is resumed there.
func TestPausedJob(t *testing.T) {
	t.Parallel()
	w := acting(t)
	form := w.question(asked{do: pauseJob, key: string(nightly)}.address())
	form.Set("why", "half of the answers are empty")
	says(t, w.post(form).Body.String(), "jobs/nightly paused by ada at ", "nothing more is started until opledger resume")
	page := w.get(jobAddresses[0]).Body.String()
	says(t, page, "PAUSED", "The job is held: an operator has paused it.", "ada paused it at ",
		": half of the answers are empty.",
		"1 batch that runs goes on, and is collected and paid. Of 3 batches about to start, those ",
		"do=resume-job", "do=cancel-job")
	if strings.Contains(page, "do=pause-job") {
		t.Errorf("it is offered again: %s", page)
	}
	form = w.question(asked{do: resumeJob, key: string(nightly)}.address())
	form.Set("why", "they are fine")
	says(t, w.post(form).Body.String(), "jobs/nightly resumed by ada at ", ": they are fine")
	most := 5
	_, err := w.Jobs.Change(t.Context(), nightly, job.Limits{MaxBatches: &most}, ledger.Decision{By: "kim", Why: "quota"})
	w.do(err)
	page = w.get(jobAddresses[0]).Body.String()
	says(t, page, "do=pause-job", "Resumed", "by ada: they are fine", "Changed", "maxBatches 4 → 5, ", " by kim: quota")
	if strings.Contains(page, "do=resume-job") || strings.Contains(page, "has paused it") {
		t.Errorf("it is still held: %s", page)
	}
}

// TestReleasedPart: the page of a part says who released it, and that of its batch that it is not collected.
func TestReleasedPart(t *testing.T) {
	t.Parallel()
	w := acting(t)
	form := w.question(asked{do: release, key: "jobs/nightly/00002"}.address())
	form.Set("why", "not found since Monday")
	says(t, w.post(form).Body.String(), "jobs/nightly/00002 released by ada")
	says(t, w.get(jobAddresses[3]).Body.String(), "RELEASED", "Released", "by ada: not found since Monday")
	says(t, w.get(jobAddresses[7]).Body.String(), "was released: the result of this batch is never collected")
	if page := w.get(jobAddresses[0]).Body.String(); strings.Contains(page, "do=release") {
		t.Errorf("it is offered again: %s", page)
	}
}

// TestDeadStep: a step that died can be run again, and not be waived while the job needs it.
func TestDeadStep(t *testing.T) {
	t.Parallel()
	w := acting(t)
	w.do(w.Effects.MarkDead(t.Context(), w.claim(young, job.StepSplit), fmt.Errorf("no such input")))
	page := w.get(jobAddresses[2]).Body.String()
	says(t, page, "Effect job-split is dead", "no such input", "Run it again")
	if strings.Contains(page, "do=waive") {
		t.Errorf("it can be waived: %s", page)
	}
}

// TestManyParts: of a job with many parts the page shows the first that are open, and leads to all, by pages.
func TestManyParts(t *testing.T) {
	t.Parallel()
	w := acting(t)
	w.submit("jobs/big", 100, job.Options{MaxBatches: 60})
	w.cut("jobs/big", 100)
	page := w.get("/console/operation?key=jobs%2Fbig").Body.String()
	says(t, page, "0 of 100 collected, at least 45 running or starting, at most 55 waiting to start",
		"Open batches", "All parts")
	seen, first := 0, link(partsPath, theKey, "jobs/big")
	var before []string
	for address := first; address != ""; {
		body := w.get(address).Body.String()
		seen += strings.Count(body, `<tr id="part-`)
		before = append(before, follow(body, "Previous page"))
		address = follow(body, "Next page")
	}
	if seen != 100 || len(before) != 3 || before[0] != "" || before[1] != first {
		t.Errorf("the pages have %d parts, and are behind %q", seen, before)
	}
	for address, code := range map[string]int{
		"/console/parts?key=jobs%2Fno": 404, "/console/parts?key=batches%2Fx": 400,
		"/console/parts?key=jobs%2Fbig&after=x": 400,
	} {
		if answer := w.get(address); answer.Code != code {
			t.Errorf("%s: %d", address, answer.Code)
		}
	}
}

// TestShares: every share of a bar that is not empty can be seen, and they lie side by side.
func TestShares(t *testing.T) {
	t.Parallel()
	all := shares(progress.Progress{
		Input: job.Input{Requests: 1_000_000}, Counts: job.Counts{Done: 500_000, Refused: 1}, Open: 499_999,
	})
	x := 0
	for _, s := range all {
		if s.N == 0 {
			if s.W != 0 {
				t.Errorf("%+v is seen", s)
			}
			continue
		}
		if s.X != x || s.W < leastShare {
			t.Errorf("%+v, want it at %d", s, x)
		}
		x += s.W
	}
	over := jobView{Progress: progress.Progress{State: operation.Cancelled, Batches: progress.Batches{Total: 3, Done: 1}}}
	if words := over.BatchWords(); words != "1 of 3 collected; the others were refused, released or not started" {
		t.Errorf("of a job that has ended: %s", words)
	}
	if width := (jobView{Shares: all}).BarWidth(); width != x || x < barWidth {
		t.Errorf("%d wide, %d", width, x)
	}
}

// TestRefusedDecisions: what the ledger refuses, because a job needs it, is a conflict with what is now.
func TestRefusedDecisions(t *testing.T) {
	t.Parallel()
	for _, err := range []error{ledger.ErrStep, ledger.ErrPart, ledger.ErrJobPending, ledger.ErrNotRunning} {
		if status := statusOf(fmt.Errorf("deciding: %w", err), http.StatusBadGateway); status != http.StatusConflict {
			t.Errorf("%v: %d", err, status)
		}
	}
	status := statusOf(fmt.Errorf("reading: %w", ledger.ErrNoJob), http.StatusBadGateway)
	if status != http.StatusNotFound {
		t.Errorf("no job: %d", status)
	}
}
