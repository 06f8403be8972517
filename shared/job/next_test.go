package job_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// A world plays the steps of one job. Each request is one byte of the input, so that a source names its
// requests by its range.
type world struct {
	*testing.T
	random *rand.Rand
	now    time.Time
	job    job.Job
	parts  []job.Part
	counts int64         // requests that became final at a collect
	sent   map[int64]int // how often each request was in a batch
	final  map[int64]bool
	// bad are requests for which Gemini refuses every batch that has them.
	bad map[int64]bool
	// objects has the requests of every object that a collect wrote.
	objects map[string][]int64
	steps   int
	holds   int // how often the job was held
}

func newWorld(t *testing.T, seed uint64, requests int64, options job.Options) *world {
	t.Helper()
	key, err := operation.JobKey("nightly")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		T: t, random: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC),
		sent: map[int64]int{}, final: map[int64]bool{}, bad: map[int64]bool{}, objects: map[string][]int64{},
		job: job.Job{
			Key: key, Options: options.WithDefaults(), Phase: job.Running, CreatedAt: midnight,
			Input: job.Input{Requests: requests, Bytes: requests, Object: "input"},
		},
	}
	for _, r := range cut(w.job.Options, 0, slices.Repeat([]int64{1}, int(requests))...) {
		w.job.Parts++
		w.parts = append(w.parts, job.Part{
			Key: operation.PartKey(key, w.job.Parts), Number: w.job.Parts, Round: 1, State: job.Planned,
			Sources: []job.Source{r}, Requests: r.Requests, Bytes: r.Length, CreatedAt: w.now, WaitingSince: w.now,
		})
	}
	if options.Pilot > 0 {
		w.job.Pilot = w.parts[0].Requests
	}
	return w
}

// requests returns those that sources name.
func (w *world) requests(sources []job.Source) []int64 {
	var all []int64
	for _, s := range sources {
		if object, ok := w.objects[s.Object]; ok {
			all = append(all, object[s.Offset:s.Offset+s.Length]...)
			continue
		}
		for i := range s.Length {
			all = append(all, s.Offset+i)
		}
	}
	return all
}

func (w *world) open() []job.Part {
	return slices.DeleteFunc(slices.Clone(w.parts), func(p job.Part) bool { return !p.State.Open() })
}

// advance takes steps until none is left, and checks each.
func (w *world) advance() {
	w.Helper()
	for range 1000 {
		step := job.Next(w.now, w.job, w.open(), false, room(3))
		if !step.Changed() {
			return
		}
		w.steps++
		w.job = step.Job
		for _, p := range step.Parts {
			if p.State.Open() == p.WaitingSince.IsZero() {
				w.Fatalf("part %d is %s and waits since %v", p.Number, p.State, p.WaitingSince)
			}
			if i := slices.IndexFunc(w.parts, func(o job.Part) bool { return o.Number == p.Number }); i >= 0 {
				w.parts[i] = p
			} else {
				w.parts = append(w.parts, p)
			}
		}
		w.owned()
	}
	w.Fatal("it never rests")
}

// owned checks that every request is final, waits, or is in exactly one part [J2, J7].
func (w *world) owned() {
	w.Helper()
	owners := map[int64]int{}
	for _, p := range w.parts {
		if p.State == job.Collected {
			for _, r := range w.requests(p.Again) {
				owners[r]++
			}
		} else if p.State.Open() || p.State == job.Dropped {
			for _, r := range w.requests(p.Sources) {
				owners[r]++
			}
		}
	}
	for _, g := range w.job.Waiting {
		for _, r := range w.requests(g.Sources) {
			owners[r]++
		}
	}
	for r := range w.job.Input.Requests {
		if w.final[r] {
			owners[r]++
		}
		if owners[r] != 1 {
			w.Fatalf("request %d has %d owners [J2]", r, owners[r])
		}
	}
	w.piloted()
}

// pilots returns how many requests the pilot has, and how many of them may still be sent.
func (w *world) pilots() (requests, open int64) {
	if w.job.Options.Pilot == 0 {
		return 0, 0
	}
	requests = w.parts[0].Requests
	dropped := map[int64]bool{}
	for _, p := range w.parts {
		if p.State == job.Dropped {
			for _, r := range w.requests(p.Sources) {
				dropped[r] = true
			}
		}
	}
	for r := range requests {
		if !w.final[r] && !dropped[r] {
			open++
		}
	}
	return requests, open
}

// piloted checks that no request behind those of the pilot was given to a batch before these were final [J13].
func (w *world) piloted() {
	w.Helper()
	requests, open := w.pilots()
	for _, p := range w.parts {
		for _, r := range w.requests(p.Sources) {
			if open > 0 && r >= requests && p.State != job.Planned && p.State != job.Dropped {
				w.Fatalf("request %d is in part %d, which is %s, and %d of the pilot are open [J13]", r, p.Number, p.State, open)
			}
		}
	}
}

// held resumes a job that is held, which is to be one whose pilot has failed.
func (w *world) held() {
	w.Helper()
	requests, open := w.pilots()
	notDone := requests - w.job.Counts.Done
	if open > 0 || w.job.Hold.Reason != job.HeldByPilot || !w.job.Options.PilotFailures.Exceeded(notDone, requests) {
		w.Fatalf("it is held for %+v, and of its pilot's %d requests %d are not done", w.job.Hold, requests, notDone)
	}
	w.holds++
	w.job.Hold = nil
	w.advance()
}

// play lets Gemini and the workers do one thing, and reports whether there was one to do.
func (w *world) play() bool {
	open := w.open()
	open = slices.DeleteFunc(open, func(p job.Part) bool { return !p.State.Running() })
	if len(open) == 0 {
		return false
	}
	p := open[w.random.IntN(len(open))]
	requests := w.requests(p.Sources)
	switch {
	case p.State == job.Starting && slices.ContainsFunc(requests, func(r int64) bool { return w.bad[r] }):
		p.State, p.Problem = job.Refused, "INVALID_ARGUMENT"
		p.Pieces = pieces(p.Sources)
	case p.State == job.Starting:
		p.State = job.Started
		for _, r := range requests {
			w.sent[r]++
		}
	default:
		w.collect(&p, requests)
	}
	w.parts[p.Number-1] = p
	return true
}

// pieces cuts the first source into up to ten.
func pieces(sources []job.Source) []job.Source {
	var cut []job.Source
	for _, s := range sources {
		size := max(1, (s.Length+9)/10)
		for at := int64(0); at < s.Length; at += size {
			n := min(size, s.Length-at)
			cut = append(cut, job.Source{Object: s.Object, Offset: s.Offset + at, Length: n, Requests: n})
		}
	}
	return cut
}

func (w *world) collect(p *job.Part, requests []int64) {
	var again []int64
	for _, r := range requests {
		if w.random.IntN(3) == 0 && p.Round < w.job.Options.MaxAttempts {
			again = append(again, r)
			continue
		}
		w.final[r] = true
		w.counts++
		p.Counts.Done++
	}
	if len(again) > 0 {
		name := fmt.Sprintf("again-%d", p.Number)
		w.objects[name] = again
		p.Again = []job.Source{{Object: name, Length: int64(len(again)), Requests: int64(len(again))}}
	}
	p.State = job.Collected
}

// run plays until the job finishes.
func (w *world) run() {
	w.Helper()
	w.advance()
	for rounds := 0; w.job.Phase == job.Running; rounds++ {
		if rounds > 10_000 {
			w.Fatalf("it never ends: %+v", w.job)
		}
		if w.job.Hold != nil {
			w.held()
		}
		if !w.play() {
			w.now = w.now.Add(time.Hour)
		}
		if w.random.IntN(3) == 0 { // several may end together
			w.advance()
		}
	}
	for r, n := range w.sent {
		if n > w.job.Options.MaxAttempts {
			w.Errorf("request %d was sent %d times [J5]", r, n)
		}
	}
	if len(w.job.Waiting) > 0 || len(w.open()) > 0 {
		w.Errorf("it finishes with %d waiting, %d open [J8]", len(w.job.Waiting), len(w.open()))
	}
	if w.job.Counts.Done != w.counts {
		w.Errorf("counted %d, want %d", w.job.Counts.Done, w.counts)
	}
}

func TestNext(t *testing.T) {
	for seed := range uint64(300) {
		size := int64(1 + seed%13)
		w := newWorld(t, seed, int64(1+seed%97), job.Options{MaxRequestsPerBatch: size, Pilot: int64(seed/4) % (size + 1)})
		switch seed % 4 {
		case 1:
			w.bad[int64(seed)%w.job.Input.Requests] = true
		case 2:
			for range 5 {
				w.advance()
				w.play()
			}
			w.job.Cancelled = &operation.Decided{By: "operator", Why: "test"}
		case 3:
			for r := range w.job.Input.Requests {
				w.bad[r] = true
			}
		}
		w.run()
		failed := seed%4 == 3 && w.job.Options.Pilot > 0 && w.parts[0].Requests < w.job.Input.Requests
		if w.holds > 1 || failed != (w.holds == 1) && seed%4 != 1 && seed%4 != 2 {
			t.Errorf("seed %d: it was held %d times", seed, w.holds)
		}
		if seed%4 == 0 && len(w.final) != int(w.job.Input.Requests) {
			t.Errorf("seed %d: %d of %d requests are final", seed, len(w.final), w.job.Input.Requests)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// What all batches are refused for is not in the requests, so that they are not split down to each [J5].
func TestNextRefusesAlike(t *testing.T) {
	w := newWorld(t, 1, 1000, job.Options{MaxRequestsPerBatch: 100})
	for r := range w.job.Input.Requests {
		w.bad[r] = true
	}
	w.run()
	if made := w.job.Parts; made > 10+10*10 {
		t.Errorf("%d parts were made", made)
	}
	if state, why := withNotDone(w.job, 1000).Verdict(); state != operation.Failed || why == "" {
		t.Errorf("%s, %q", state, why)
	}
}

// One request that Gemini refuses costs its neighbours nothing.
func TestNextFindsTheBadRequest(t *testing.T) {
	w := newWorld(t, 1, 1000, job.Options{MaxRequestsPerBatch: 100})
	w.bad[777] = true
	w.run()
	if len(w.final) != 999 || w.final[777] {
		t.Errorf("%d requests are final, want all but one", len(w.final))
	}
}

// A hundred batches that end together are one step [J2].
func TestNextConsumesTogether(t *testing.T) {
	w := newWorld(t, 1, 100, job.Options{MaxRequestsPerBatch: 1, MaxAttempts: 1})
	for i := range w.parts {
		w.final[int64(i)] = true
		w.parts[i].State, w.parts[i].Counts.Done = job.Collected, 1
	}
	w.advance()
	if w.steps != 1 || w.job.Counts.Done != 100 || w.job.Phase != job.Finishing {
		t.Errorf("%d steps, %d done, %s", w.steps, w.job.Counts.Done, w.job.Phase)
	}
}

// Open requests wait for others, but not longer than an hour while other batches run.
func TestNextGathers(t *testing.T) {
	w := newWorld(t, 1, 4, job.Options{MaxRequestsPerBatch: 2})
	w.advance()
	w.objects["again-1"] = []int64{0}
	w.parts[0].State, w.parts[0].Again = job.Collected, []job.Source{{Object: "again-1", Length: 1, Requests: 1}}
	w.final[1] = true
	w.advance()
	if len(w.parts) != 2 || len(w.job.Waiting) != 1 {
		t.Fatalf("%d parts, %d waiting", len(w.parts), len(w.job.Waiting))
	}
	w.now = w.now.Add(time.Hour - time.Second)
	if w.advance(); len(w.parts) != 2 {
		t.Fatal("it did not wait for an hour")
	}
	w.now = w.now.Add(time.Second)
	if w.advance(); len(w.parts) != 3 || w.parts[2].Round != 2 {
		t.Fatalf("after an hour: %+v", w.parts)
	}
}

// A released batch is given up, and its requests go into a new part with a new intent [J6].
func TestNextReleases(t *testing.T) {
	for state, batch := range map[job.State]operation.Key{job.Started: "batches/a", job.Starting: ""} {
		w := newWorld(t, 1, 1, job.Options{})
		w.advance()
		w.parts[0].State, w.parts[0].Batch = state, batch
		w.parts[0].Released = &operation.Decided{By: "operator", Why: "Gemini does not know it"}
		w.advance()
		old, young := w.parts[0], w.parts[1]
		if old.State != job.Released || old.CancelPlanned != (batch != "") || young.State != job.Starting ||
			young.Round != 2 || w.job.Twins != 1 {
			t.Errorf("%s: %+v\n%+v, %d twins", state, old, young, w.job.Twins)
		}
	}
}

// A job that has too many failures starts nothing more, and finishes what runs.
func TestNextStops(t *testing.T) {
	w := newWorld(t, 1, 10, job.Options{MaxRequestsPerBatch: 1, MaxBatches: 1, StopAfter: "1"})
	w.job.Counts.Failed = 2
	w.advance()
	if w.job.Phase != job.Finishing || w.job.Stopped == "" || w.parts[0].State != job.Dropped {
		t.Errorf("%s, stopped %q, %s", w.job.Phase, w.job.Stopped, w.parts[0].State)
	}
}

// TestNextHeld: a job that is held starts nothing, consumes what was collected, and waits with what is open; once
// nothing is open it ends all the same [J11].
func TestNextHeld(t *testing.T) {
	j := job.Job{
		Key: "jobs/nightly", Phase: job.Running, Options: job.Options{}.WithDefaults(), Parts: 2, Round: 1,
		Input: job.Input{Requests: 20}, Hold: &job.Hold{Reason: job.HeldByOperator},
	}
	open := []job.Part{
		{Key: "jobs/nightly/00001", Number: 1, Round: 1, State: job.Collected},
		{Key: "jobs/nightly/00002", Number: 2, Round: 1, State: job.Planned},
	}
	step := job.Next(midnight, j, open, false, room(10))
	if len(step.Start) > 0 || step.Wants.For != "" || step.Finish || step.Job.Batches != 1 {
		t.Errorf("%+v", step)
	}
	if step = job.Next(midnight, j, open[:1], false, room(10)); !step.Finish {
		t.Errorf("nothing is open: %+v", step)
	}
	j.Hold = nil
	if step = job.Next(midnight, j, open, false, room(10)); len(step.Start) != 1 {
		t.Errorf("resumed: %+v", step)
	}
}

func withNotDone(j job.Job, failed int64) job.Job {
	j.Counts.Failed = failed
	return j
}

func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		tolerance job.Tolerance
		failed    int64
		cancelled bool
		want      operation.State
	}{
		{"", 0, false, operation.Succeeded},
		{"", 1, false, operation.Failed},
		{"1", 1, false, operation.Succeeded},
		{"1%", 2, false, operation.Succeeded},
		{"1%", 3, false, operation.Failed},
		{"100%", 0, true, operation.Cancelled},
	} {
		j := job.Job{Options: job.Options{MaxFailures: test.tolerance}, Input: job.Input{Requests: 200}}
		if test.cancelled {
			j.Cancelled = &operation.Decided{}
		}
		if state, _ := withNotDone(j, test.failed).Verdict(); state != test.want {
			t.Errorf("%+v: %s", test, state)
		}
	}
}

// Where Gemini accepted no batch, its words are the job's; else the tolerance is.
func TestVerdictSaysWhy(t *testing.T) {
	for _, test := range []struct {
		job  job.Job
		want string
	}{
		{job.Job{Refusal: "no billing"}, "Gemini refused every batch: no billing"},
		{job.Job{Batches: 1, Refusal: "no billing"}, "3 of 60 requests were not done, and --max-failures allows 0"},
		{job.Job{Options: job.Options{MaxFailures: "2%"}}, "3 of 60 requests were not done, and --max-failures allows 2%"},
		{job.Job{Batches: 1, Stopped: "3 were not done"}, "the job was stopped: 3 were not done"},
		{job.Job{Invalid: "line 3 has no key"}, "the input is not valid: line 3 has no key"},
	} {
		test.job.Input.Requests = 60
		j := withNotDone(test.job, 3)
		if _, why := j.Verdict(); why != test.want {
			t.Errorf("%+v: %q", test, why)
		}
	}
}
