package console

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// A standing is a job that starts nothing now, and what its page says to an operator who sees nothing else.
type standing struct {
	job   operation.Key
	chip  string
	title string
	words []string
	alert bool // the overview names it
}

// standings are jobs that fillStandings makes: one that waits for enqueued tokens, one whose pilot failed, and one
// whose key Gemini refuses.
var standings = []standing{
	{"jobs/tokens", "RUNNING", "it waits for enqueued tokens of gemini-quota", []string{
		"300 tokens of gemini-quota may be in batches that have not ended, by OPLEDGER_ENQUEUED_TOKENS",
		"free tokens of its model's quota, for ",
		"Batches that run have 250 of them, of all jobs; the next batch of this one has about 250",
		"The next batch starts by itself once batches of the model have ended", "uses up no attempt",
		"Nothing, if the job may take longer. Else raise OPLEDGER_ENQUEUED_TOKENS", "Pause the job",
	}, false},
	{"jobs/pilot", "HELD", "its pilot failed", []string{
		"The job is held: its pilot failed.",
		"1000 of the pilot's 10000 requests were not done, and --pilot-failures allows 5%",
		"The other 20,000 requests were not sent, and cost nothing",
		"If the requests are wrong, cancel the job, correct its input", "If the failures are acceptable, resume the job",
		"Resume the job", "Cancel the job", "First failures", "invalid", "1,000 in all", "review-<17>", "it is no JSON: ",
		"HELD: batches 1 of 3", "someone to resume the job, for ",
	}, true},
	{"jobs/key", "RUNNING", "Gemini refuses the API key, or the project", []string{
		"Part ", "jobs/key/00001", "HTTP status 400: API key not valid", "No batch is created with this key, of any job",
		"tried again every five minutes", "Correct GEMINI_API_KEY", "an API key that Gemini accepts, for ",
	}, true},
}

func (w *world) fillStandings() {
	w.Helper()
	w.pass(time.Second)
	w.submit("jobs/tokens", 4, job.Options{Model: "gemini-quota", MaxCost: 500, Deadline: w.now.Add(8 * time.Hour)})
	w.cut("jobs/tokens", 4)
	w.pass(time.Second)
	w.submit("jobs/pilot", 3, job.Options{Pilot: 10_000})
	w.cut("jobs/pilot", 3)
	w.start("jobs/pilot", 1)
	w.event(batchKey("jobs/pilot", 1), "end-pilot", operation.Succeeded, operation.Webhook)
	w.collect("jobs/pilot", 1, job.Counts{Done: 9000, Invalid: 1000}, 0)
	w.advance("jobs/pilot")
	w.pass(time.Second)
	w.submit("jobs/key", 2, job.Options{})
	w.cut("jobs/key", 2)
	for n := 1; n <= 2; n++ {
		w.putOff("jobs/key", n, job.WaitsForAccess, "creating the batch: HTTP status 400: API key not valid")
	}
}

// putOff puts the start of a part off, as for what Gemini said.
func (w *world) putOff(key operation.Key, number int, reason job.Wait, said string) {
	w.Helper()
	p := w.part(key, number)
	lease := w.claim(p.Key, job.StepStart)
	p.Waits, p.WaitsSince = reason, w.now
	_, err := w.Jobs.Save(w.Context(), lease, p)
	w.do(err)
	w.do(w.Effects.Postpone(w.Context(), lease, errors.New(said), time.Hour))
}

// TestStandings: of a job that starts nothing, its page says why, what follows and what to do. The list says why, and
// the overview where an operator must act.
func TestStandings(t *testing.T) {
	t.Parallel()
	w := acting(t)
	w.fillStandings()
	list, overview := w.get(jobsPath).Body.String(), w.get("/").Body.String()
	for _, s := range standings {
		page := w.get(link("/console/operation", theKey, string(s.job))).Body.String()
		says(t, page, s.chip, s.title[1:]+".", "What it means", "What to do")
		for _, words := range s.words {
			if !strings.Contains(page, html.EscapeString(words)) {
				t.Errorf("the page of %s does not say %q: %s", s.job, words, page)
			}
		}
		if !strings.Contains(list, s.title) {
			t.Errorf("the list does not say %q of %s: %s", s.title, s.job, list)
		}
		if strings.Contains(overview, "The job "+string(s.job)+" goes no further: "+s.title) != s.alert {
			t.Errorf("the overview, of %s: %s", s.job, overview)
		}
	}
	says(t, overview, "The job jobs/key goes no further: Gemini refuses the API key, or the project",
		"opledger show jobs/key", "jobs not ended", "2 of them need an operator")
}

// TestJobs: the list says of each job its state, its requests by outcome, its batches, round, cost, age and deadline,
// and leads to it. A filter leaves out the others.
func TestJobs(t *testing.T) {
	t.Parallel()
	w := acting(t)
	w.fillStandings()
	all := w.get(jobsPath)
	if all.Code != http.StatusOK || !strings.Contains(all.Body.String(), "hx-sse:connect") {
		t.Errorf("%d, or without a stream", all.Code)
	}
	says(t, all.Body.String(), "6 in all, newest first.", "operation?key=jobs%2Fkey", "RUNNING",
		"operation?key=jobs%2Fpilot", "HELD", "its pilot failed",
		"30,000 requests: 9,000 done, 0 refused, 0 failed, 1,000 invalid, 0 truncated, 20,000 open", "1 of 3",
		"round 1 of 3", "operation?key=jobs%2Ftokens", "40,000 open", "0 of 4, 1 under way",
		"nothing was counted yet, of at most $500.00", "in 7h59m", "jobs%2Fyoung", "SPLITTING", "jobs%2Fnightly",
		"1 of 8, 4 under way",
		"jobs%2Fended", "FAILED", "1 failed", "1 of 1")
	for show, want := range map[string]struct {
		has  []string
		none string
	}{
		"open":     {[]string{"tokens", "pilot", "key", "young", "nightly"}, "ended"},
		"standing": {[]string{"tokens", "pilot", "key", "nightly"}, "young"},
		"failed":   {[]string{"ended"}, "nightly"},
	} {
		page := w.get(link(jobsPath, "show", show)).Body.String()
		for _, id := range want.has {
			if !strings.Contains(page, `id="row-jobs/`+id+`"`) {
				t.Errorf("%s is without %s: %s", show, id, page)
			}
		}
		if strings.Contains(page, `id="row-jobs/`+want.none+`"`) {
			t.Errorf("%s has %s: %s", show, want.none, page)
		}
	}
	says(t, w.get(link(jobsPath, "show", "succeeded")).Body.String(), "No job has succeeded.")
	if answer := w.get(link(jobsPath, "show", "late")); answer.Code != http.StatusBadRequest {
		t.Errorf("a filter that there is not: %d", answer.Code)
	}
	says(t, newWorld(t).get(jobsPath).Body.String(), "The ledger has no jobs yet.", "opledger submit job")
}

// TestManyJobs: the list has pages. Of a filter that no index finds a page may be empty, and then says so.
func TestManyJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit("jobs/held", 1, job.Options{})
	_, err := w.Jobs.Pause(t.Context(), "jobs/held", ledger.Decision{By: "ada", Why: "a test"})
	w.do(err)
	for i := range jobRows {
		w.pass(time.Second)
		w.submit(operation.Key(fmt.Sprintf("jobs/nightly-%d", i)), 1, job.Options{})
	}
	for _, show := range []string{"", "standing"} {
		first := w.get(link(jobsPath, "show", show)).Body.String()
		_, next, found := strings.Cut(first, `<p class="next"><a class="button" href="`)
		next, _, _ = strings.Cut(next, `"`)
		if strings.Contains(first, "jobs/held") || !found {
			t.Fatalf("%q: the first page: %s", show, first)
		}
		if show != "" {
			says(t, first, "Of the jobs that were read none is held, and none waits. There are more.")
		}
		says(t, w.get(html.UnescapeString(next)).Body.String(), "row-jobs/held", "PAUSED", "an operator has paused it")
	}
}

// TestBatchLinks: a list of operations leads from the batch of a job to its part and its job, and so does its page.
func TestBatchLinks(t *testing.T) {
	t.Parallel()
	w := acting(t)
	part, of := "/console/operation?key=jobs%2Fnightly%2F00002", "/console/operation?key=jobs%2Fnightly"
	says(t, w.get("/console/operations?collection=batches").Body.String(), "row-batches/nightly-2", part, of)
	says(t, w.get(jobAddresses[7]).Body.String(), "crumb", of, part)
	for _, address := range []string{jobAddresses[0], jobAddresses[3], jobAddresses[8]} {
		page := w.get(address).Body.String()
		if says(t, page, jobsPath, "crumb"); !regexp.MustCompile(`aria-current="true">Jobs<`).MatchString(page) {
			t.Errorf("%s is not below Jobs: %s", address, page)
		}
	}
}

// TestBrowserStandings: in a real browser the list of jobs, and the page of a job that starts nothing, in the gate of
// each, fit a desktop and a phone and are accessible. Each page says why, what follows and what to do.
func TestBrowserStandings(t *testing.T) {
	t.Parallel()
	w := acting(t)
	w.fillStandings()
	b := newBrowser(w, w.console)
	if harness.Thorough(t) { // a short run has another list
		b.fits(jobsPath)
	}
	for i, s := range standings {
		page := link("/console/operation", theKey, string(s.job))
		if i == 0 || harness.Thorough(t) { // they have one template
			b.fits(page)
		} else {
			b.do(chromedp.Navigate(b.server + page))
		}
		for _, words := range append([]string{s.title[1:], "What it means", "What to do"}, s.words...) {
			b.shows(words)
		}
	}
	if standing := link(jobsPath, "show", "standing"); harness.Thorough(t) { // it is the list of jobs with fewer
		b.fits(standing)
	} else {
		b.do(chromedp.Navigate(b.server + standing))
	}
	b.shows("its pilot failed")
	form := w.question(asked{do: resumeJob, key: "jobs/pilot"}.address())
	form.Set("why", "they are fine")
	w.post(form) // the open page shows what has changed
	b.do(chromedp.WaitNotPresent(chromedp.CSS(`[id="row-jobs/pilot"]`)))
	b.quiet("a job that was resumed")
}
