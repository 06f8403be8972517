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
	var open []job.Part
	for i := range w.parts { // of which most have ended, and each is large
		if w.parts[i].State.Open() {
			open = append(open, w.parts[i])
		}
	}
	return open
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
	if open == 0 {
		return
	}
	for _, p := range w.parts {
		for _, r := range w.requests(p.Sources) {
			if r >= requests && p.State != job.Planned && p.State != job.Dropped {
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
