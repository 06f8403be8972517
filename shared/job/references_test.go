package job_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// TestReferencesIn: files and caches are found where a request can name them, in each spelling, and nothing else is.
func TestReferencesIn(t *testing.T) {
	t.Parallel()
	file := func(uri string) string {
		return `{"contents":[{"parts":[{"text":"files/no"},{"fileData":{"mimeType":"x","fileUri":"` + uri + `"}}]}]}`
	}
	for body, want := range map[string]string{
		file("https://generativelanguage.googleapis.com/v1beta/files/a-1"):                  "files/a-1",
		file("https://generativelanguage.googleapis.com/v1beta/files/a:download?alt=media"): "files/a",
		file("https://generativelanguage.googleapis.com/v1/files/a"):                        "files/a",
		file(`files\/a`):                                                        "files/a",
		file("files/a"):                                                         "files/a",
		file("gs://bucket/files/a"):                                             "",
		file("https://example.com/v1beta/files/a"):                              "",
		file("files/a/../b"):                                                    "",
		file("files/a?b"):                                                       "files/a",
		`{"cachedContent":"cachedContents/c","contents":[]}`:                    "cachedContents/c",
		`{"cached_content":"cachedContents/c"}`:                                 "cachedContents/c",
		`{"contents":{"parts":{"file_data":{"file_uri":"files/a"}}}}`:           "files/a",
		`{"content":{"parts":[{"fileData":{"fileUri":"files/a"}}]}}`:            "files/a",
		`{"system_instruction":{"parts":[{"fileData":{"fileUri":"files/a"}}]}}`: "files/a",
		`{"contents":[{"parts":[{"functionResponse":{"parts":[{"fileData":{"fileUri":"files/a"}}]}}]}]}`:   "files/a",
		`{"contents":[{"parts":[{"functionCall":{"args":{"fileUri":"files/a"}}}]}]}`:                       "",
		`{"contents":[{"parts":[{"fileData":{"fileUri":"files/a"}},{"fileData":{"fileUri":"files/b"}}]}]}`: "files/a files/b",
		`{"contents":[{"parts":[{"fileData":{"fileUri":["files/a"]}}]}]}`:                                  "",
		`{"contents":[{"parts":[{"text":"about files"}]}]}`:                                                "",
		`files`: "",
	} {
		var found []string
		job.ReferencesIn([]byte(body), func(name string) { found = append(found, name) })
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// referring is a job of 10 requests in two parts whose references were not looked up yet.
func referring() (job.Job, []job.Part) {
	j := job.Job{
		Key: "jobs/nightly", Phase: job.Running, Options: job.Options{}.WithDefaults(), Parts: 2, Round: 1,
		Input: job.Input{Requests: 10}, References: job.References{Count: 3}, CreatedAt: midnight,
	}
	part := func(n int, key operation.Key) job.Part {
		return job.Part{Key: key, Number: n, Round: 1, State: job.Planned, Requests: 5, WaitingSince: midnight}
	}
	return j, []job.Part{part(1, "jobs/nightly/00001"), part(2, "jobs/nightly/00002")}
}

// TestNextLooksUp: references are looked up once before the first part, and before the first of each round, and while
// that lasts nothing is started; then again once one has expired [J15].
func TestNextLooksUp(t *testing.T) {
	t.Parallel()
	j, open := referring()
	step := job.Next(midnight, j, slices.Clone(open), false, room(5))
	if !slices.Equal(step.LookUp, []operation.Key{"jobs/nightly/00001"}) || len(step.Start) > 0 {
		t.Fatalf("%+v", step)
	}
	open[0] = step.Parts[0]
	if step = job.Next(midnight, j, slices.Clone(open), false, room(5)); len(step.LookUp) > 0 || step.Changed() {
		t.Errorf("it is asked for again: %+v", step)
	}
	open[0].LookedUp = &job.References{} // not complete
	if step = job.Next(midnight, j, slices.Clone(open), false, room(5)); len(step.Start) > 0 {
		t.Errorf("it was not complete: %+v", step)
	}
	open[0].LookedUp = &job.References{Round: 1, Expires: midnight.Add(time.Hour)}
	step = job.Next(midnight, j, slices.Clone(open), false, room(1))
	if len(step.Start) != 1 || step.Job.References.Count != 3 || step.Parts[0].LookedUp != nil {
		t.Fatalf("%+v", step)
	}
	j, open[0] = step.Job, step.Parts[0]
	later := job.Next(midnight.Add(time.Hour), j, slices.Clone(open), false, room(5))
	if !slices.Equal(later.LookUp, []operation.Key{"jobs/nightly/00002"}) || len(later.Start) > 0 {
		t.Errorf("one has expired: %+v", later)
	}
	open[1].Round = 2
	if later = job.Next(midnight, j, slices.Clone(open), false, room(5)); len(later.LookUp) != 1 || len(later.Start) > 0 {
		t.Errorf("another round: %+v", later)
	}
	none, parts := referring()
	none.References = job.References{}
	if step = job.Next(midnight, none, parts, false, room(5)); len(step.LookUp) > 0 || len(step.Start) != 2 {
		t.Errorf("a job without references: %+v", step)
	}
}

// TestNextHoldsForReferences: a job of which too many requests would end refused is held before they do, once for that
// many, also where it is paused or has reached --max-cost when that is found [J15].
func TestNextHoldsForReferences(t *testing.T) {
	t.Parallel()
	found := &job.References{Round: 1, Gone: 1, First: "files/a", Open: 2}
	j, open := referring()
	open[0].LookUp, open[0].LookedUp = job.LookUpPlanned, found
	for tolerated, held := range map[job.Tolerance]bool{"": true, "1": true, "10%": true, "2": false, "20%": false} {
		j.Options.MaxFailures = tolerated
		step := job.Next(midnight, j, slices.Clone(open), false, room(5))
		if (step.Job.Hold != nil) != held || held == (len(step.Start) > 0) {
			t.Errorf("%q: %+v", tolerated, step)
		}
	}
	j.Options.MaxFailures = ""
	step := job.Next(midnight, j, slices.Clone(open), false, room(5))
	want := "2 of 10 requests name files or caches that Gemini does not have any more, such as files/a, and " +
		"--max-failures allows 0"
	if h := step.Job.Hold; h == nil || h.Reason != job.HeldByReferences || h.Why != want || !step.Job.AlertsHold() {
		t.Fatalf("%+v", h)
	}
	before := j
	before.References.Refused = 3
	other := job.Next(midnight, before, slices.Clone(open), false, room(5))
	if h := other.Job.Hold; h == nil || !strings.HasSuffix(h.Why, "such as files/a, besides 3 that ended so, and "+
		"--max-failures allows 0") {
		t.Errorf("%+v", h)
	}
	resumed := step.Job
	resumed.Hold = nil
	after := []job.Part{step.Parts[0], open[1]}
	if step = job.Next(midnight, resumed, slices.Clone(after), false, room(5)); len(step.Start) != 2 {
		t.Errorf("resumed: %+v", step)
	}
	for _, again := range []struct {
		open int64
		held bool
	}{{2, false}, {3, true}} {
		after[1].LookUp, after[1].LookedUp = job.LookUpPlanned, &job.References{Round: 1, Gone: 1, Open: again.open}
		if step = job.Next(midnight, resumed, slices.Clone(after), false, room(5)); (step.Job.Hold != nil) != again.held {
			t.Errorf("%d the next time: %+v", again.open, step.Job.Hold)
		}
	}
	for _, reason := range []job.HoldReason{job.HeldByOperator, job.HeldByCost} {
		j.Hold = &job.Hold{Reason: reason}
		step = job.Next(midnight, j, slices.Clone(open), false, room(5))
		if reason == job.HeldByOperator {
			if step.Changed() {
				t.Errorf("paused: %+v", step)
			}
			j.Hold = nil
			step = job.Next(midnight, j, slices.Clone(open), false, room(5))
		}
		if step.Job.Hold == nil || step.Job.Hold.Reason != job.HeldByReferences || len(step.Start) > 0 {
			t.Errorf("%s: %+v", reason, step)
		}
	}
}

// TestNextRefuses: requests that ended for what they name are counted, and the others are a part of the same round; of
// the pilot, which goes on before all others; dropped where the job ends [J13, J15].
func TestNextRefuses(t *testing.T) {
	t.Parallel()
	refused := func(pieces ...job.Source) (job.Job, []job.Part) {
		j, open := referring()
		j.References.Round = 1
		open[0].State, open[0].Unreferenced, open[0].Pieces = job.Refused, true, pieces
		open[0].Counts.Refused = 5
		for _, piece := range pieces {
			open[0].Counts.Refused -= piece.Requests
		}
		open[0].Failures = []job.Failure{{Key: "k1", Outcome: job.OutcomeRefused}}
		return j, open
	}
	rest := job.Source{Object: "pieces", Length: 9, Requests: 3}
	j, open := refused(rest)
	step := job.Next(midnight, j, slices.Clone(open), false, room(5))
	part := func(number int) job.Part {
		return step.Parts[slices.IndexFunc(step.Parts, func(p job.Part) bool { return p.Number == number })]
	}
	if step.Job.Counts.Refused != 2 || step.Job.References.Refused != 2 || part(1).State != job.Consumed ||
		len(step.Job.Refusals) > 0 || len(step.Job.Failures) != 1 || step.Job.Refusal != "" {
		t.Errorf("%+v", step)
	}
	if rest := part(3); rest.Round != 1 || rest.Requests != 3 || rest.State != job.Starting {
		t.Errorf("%+v", rest)
	}
	j, open = refused()
	if step = job.Next(midnight, j, open[:1], false, room(5)); step.Job.Counts.Refused != 5 || !step.Finish {
		t.Errorf("all: %+v", step)
	}
	j, open = refused(rest)
	j.Cancelled = &operation.Decided{}
	step = job.Next(midnight, j, slices.Clone(open), false, room(5))
	if step.Job.Counts.Refused != 2 || step.Job.Parts != 3 || !step.Finish {
		t.Errorf("cancelled: %+v", step)
	}
	for name, change := range map[string]func(*job.Part){
		"its references are gone": func(*job.Part) {},
		"it is too large": func(p *job.Part) {
			p.Unreferenced, p.TooLarge, p.Counts, p.Pieces = false, true, job.Counts{}, []job.Source{rest, rest}
		},
	} {
		j, open = refused(rest)
		j.Pilot, j.Options.Pilot, j.Options.PilotFailures = 5, 5, "50%"
		change(&open[0])
		step = job.Next(midnight, j, slices.Clone(open), false, room(5))
		if step.Job.Hold != nil || step.Job.Pilot != 5 || len(step.Start) == 0 ||
			slices.Contains(step.Start, "jobs/nightly/00002") {
			t.Errorf("of the pilot, %s: %+v", name, step)
		}
	}
}
