package job_test

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/job"
)

var midnight = time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)

// waiting is a job in which sources of that many bytes each wait for a batch of the second round. It has one
// batch that runs, so that they wait until they fill one.
func waiting(options job.Options, sources int, length int64) (job.Job, []job.Part) {
	g := job.Gathering{Round: 2, Since: midnight}
	for range sources {
		g.Sources = append(g.Sources, job.Source{Object: "again", Length: length, Requests: 1})
	}
	g.Requests, g.Bytes = job.Total(g.Sources)
	j := job.Job{
		Key: "jobs/nightly", Phase: job.Running, Options: options.WithDefaults(), Parts: 1, Round: 1,
		Waiting: []job.Gathering{g}, Input: job.Input{Requests: 100_000},
	}
	return j, []job.Part{{Key: "jobs/nightly/00001", Number: 1, Round: 1, State: job.Started, WaitingSince: midnight}}
}

// room is room for so many batches.
func room(batches int) job.Room { return job.Room{Batches: batches} }

func TestNextFills(t *testing.T) {
	for _, test := range []struct {
		name    string
		options job.Options
		sources int
		length  int64
		parts   []int64 // requests of each new part
		waits   int64
	}{
		{"too few", job.Options{MaxRequestsPerBatch: 3}, 2, 1, nil, 2},
		{"as many as a batch takes", job.Options{MaxRequestsPerBatch: 3}, 3, 1, []int64{3}, 0},
		{"more", job.Options{MaxRequestsPerBatch: 3}, 7, 1, []int64{3, 3}, 1},
		{"bytes", job.Options{MaxBytesPerBatch: 10}, 5, 4, []int64{2, 2}, 1},
		{"as many bytes as a batch takes", job.Options{MaxBytesPerBatch: 8}, 2, 4, []int64{2}, 0},
		{"a source larger than a batch", job.Options{MaxBytesPerBatch: 3}, 1, 4, []int64{1}, 0},
		{"sources", job.Options{}, 501, 1, []int64{500}, 1},
		{"sources, too few", job.Options{}, 500, 1, nil, 500},
	} {
		j, open := waiting(test.options, test.sources, test.length)
		step := job.Next(midnight, j, open, false, room(0))
		var parts []int64
		for _, p := range step.Parts {
			parts = append(parts, p.Requests)
			if p.Round != 2 || p.State != job.Planned || p.Bytes != p.Requests*test.length {
				t.Errorf("%s: %+v", test.name, p)
			}
		}
		var waits int64
		for _, g := range step.Job.Waiting {
			waits += g.Requests
		}
		if len(parts) != len(test.parts) || waits != test.waits {
			t.Errorf("%s: parts %v, %d wait; want %v, %d", test.name, parts, waits, test.parts, test.waits)
			continue
		}
		for i, want := range test.parts {
			if parts[i] != want {
				t.Errorf("%s: parts %v, want %v", test.name, parts, test.parts)
			}
		}
	}
}

// What waits gets a batch at once where nothing else is open, and not while more may be.
func TestNextIdle(t *testing.T) {
	j, _ := waiting(job.Options{}, 1, 1)
	if step := job.Next(midnight, j, nil, true, room(1)); step.Changed() {
		t.Errorf("with more parts behind: %+v", step)
	}
	if step := job.Next(midnight, j, nil, false, room(1)); len(step.Start) != 1 || !step.Job.SteppedAt.Equal(midnight) {
		t.Errorf("alone: %+v", step)
	}
	j.Waiting = nil
	if step := job.Next(midnight, j, nil, true, room(1)); step.Changed() {
		t.Errorf("it finishes with more parts behind: %+v", step)
	}
	j.Phase = job.Splitting
	if step := job.Next(midnight, j, nil, false, room(1)); step.Changed() {
		t.Errorf("it finishes before its input is cut: %+v", step)
	}
}

// Beyond MostParts, and beyond MaxAttempts, no batch is made: the requests become final with the job [J5].
func TestNextGivesUp(t *testing.T) {
	for name, change := range map[string]func(*job.Job){
		"parts":    func(j *job.Job) { j.Parts = job.MostParts },
		"attempts": func(j *job.Job) { j.Options.MaxAttempts = 1 },
		"stopped":  func(j *job.Job) { j.Stopped = "a test" },
	} {
		j, open := waiting(job.Options{MaxRequestsPerBatch: 1}, 1, 1)
		change(&j)
		step := job.Next(midnight, j, open, false, room(5))
		if len(step.Parts) != 1 || step.Parts[0].State != job.Dropped || step.Parts[0].Problem == "" {
			t.Errorf("%s: %+v", name, step.Parts)
		}
	}
}

// Parts start while both the job and the ledger have room for a batch, the oldest first.
func TestNextStarts(t *testing.T) {
	for _, test := range []struct{ maxBatches, most, want int }{
		{5, 0, 0}, {5, 1, 0}, {5, 3, 2}, {1, 5, 0}, {2, 5, 1}, {5, 5, 3},
	} {
		j, open := waiting(job.Options{MaxBatches: test.maxBatches}, 0, 0)
		j.Waiting = nil
		for n := 2; n <= 4; n++ {
			open = append(open, job.Part{Number: n, State: job.Planned, Round: 1, WaitingSince: midnight})
		}
		step := job.Next(midnight, j, open, false, room(test.most))
		if len(step.Start) != test.want || len(step.Parts) != test.want || len(step.Running) != 1+test.want {
			t.Errorf("%+v: %d starts, %d parts", test, len(step.Start), len(step.Parts))
		}
		if test.want > 0 && step.Parts[0].Number != 2 {
			t.Errorf("%+v: part %d is first", test, step.Parts[0].Number)
		}
	}
}

// A part that is consumed frees its batch for the next one in the same step.
func TestNextFrees(t *testing.T) {
	j, open := waiting(job.Options{}, 0, 0)
	j.Waiting = nil
	open[0].State = job.Collected
	open[0].Counts = job.Counts{Done: 1, Invalid: 2, Truncated: 3, Refused: 4, Failed: 5, Unmatched: 6}
	open[0].Usage = job.Usage{Input: 7, Output: 8, Thinking: 9, Cached: 10}
	open = append(open, job.Part{Number: 2, State: job.Planned, Round: 1, WaitingSince: midnight})
	step := job.Next(midnight, j, open, false, room(1))
	if len(step.Running) != 1 || len(step.Start) != 1 {
		t.Errorf("%d run, %d started", len(step.Running), len(step.Start))
	}
	counts, usage := step.Job.Counts, step.Job.Usage
	if counts != open[0].Counts || usage != open[0].Usage || step.Job.Batches != 1 {
		t.Errorf("%+v, %+v, %d batches", counts, usage, step.Job.Batches)
	}
	if counts.Final() != 15 || counts.NotDone() != 14 || usage.Total() != 24 {
		t.Errorf("final %d, not done %d, tokens %d", counts.Final(), counts.NotDone(), usage.Total())
	}
}

// A part that was set aside while it starts counts as a batch that runs once there is room for it, or it is started.
func TestNextSetsAside(t *testing.T) {
	for _, test := range []struct {
		state       job.State
		aside, held bool
		room, want  int
	}{
		{job.Starting, false, false, 0, 1}, {job.Starting, true, false, 0, 0}, {job.Starting, true, false, 1, 1},
		{job.Starting, true, true, 1, 0}, {job.Started, true, false, 0, 1},
	} {
		j, open := waiting(job.Options{MaxBatches: 1}, 0, 0)
		j.Waiting = nil
		if test.held {
			j.Hold = &job.Hold{Reason: job.HeldByOperator}
		}
		open[0].State, open[0].Aside = test.state, test.aside
		step := job.Next(midnight, j, open, false, room(test.room))
		wants := test.want == 0 && !test.held
		if len(step.Running) != test.want || len(step.Start) > 0 || (step.Wants.For == job.WaitsForBatch) != wants {
			t.Errorf("%+v: %+v", test, step)
		}
		if placed := test.room == 1 && test.want == 1; len(step.Parts) > 0 != placed ||
			placed && (step.Parts[0].Aside || step.Parts[0].PlacedAt != midnight) {
			t.Errorf("%+v: %+v", test, step.Parts)
		}
	}
}

// The pieces of a batch that Gemini had taken are sent once more: they are of the next round, or final [J5].
func TestNextSplitsFailed(t *testing.T) {
	for attempts, want := range map[int]job.State{1: job.Dropped, 2: job.Consumed} {
		j, open := waiting(job.Options{MaxAttempts: attempts}, 0, 0)
		j.Waiting = nil
		open[0].State, open[0].Batch = job.Refused, "batches/a"
		open[0].Pieces = []job.Source{
			{Object: "input", Length: 1, Requests: 1}, {Object: "input", Offset: 1, Length: 1, Requests: 1},
		}
		pieces := map[int]int{} // by round
		for _, p := range job.Next(midnight, j, open, false, room(5)).Parts {
			if p.Number == 1 && p.State != want {
				t.Errorf("of %d attempts: %s", attempts, p.State)
			} else if p.Number > 1 {
				pieces[p.Round]++
			}
		}
		if want == job.Consumed && (len(pieces) != 1 || pieces[2] != 2) {
			t.Errorf("by round: %v", pieces)
		}
	}
}

// A piece that is refused waits for what becomes of the others.
func TestNextWaitsForOthers(t *testing.T) {
	j, open := waiting(job.Options{}, 0, 0)
	j.Waiting, j.Parts = nil, 2
	pieces := []job.Source{{Object: "input", Length: 1, Requests: 1}, {Object: "input", Offset: 1, Length: 1, Requests: 1}}
	refused := job.Part{Number: 2, Root: 1, Depth: 1, State: job.Refused, Round: 1, Pieces: pieces, WaitingSince: midnight}
	open[0].State = job.Starting
	open = append(open, refused)
	if step := job.Next(midnight, j, open, false, room(5)); step.Changed() || len(step.Running) != 1 {
		t.Errorf("another is starting: %+v", step)
	}
	open[0].State = job.Started
	step := job.Next(midnight, j, open, false, room(5))
	if len(step.Start) != 2 || step.Job.Refusals["1"] != 2 || len(step.Running) != 3 {
		t.Errorf("another was accepted: %+v", step)
	}
	for _, p := range step.Parts[:2] {
		if p.Root != 1 || p.Depth != 2 || p.Round != 1 {
			t.Errorf("a piece: %+v", p)
		}
	}
	if step := job.Next(midnight, j, []job.Part{refused}, false, room(5)); step.Parts[0].State != job.Dropped {
		t.Errorf("no other was accepted: %+v", step.Parts)
	}
	j.Batches, j.Refusals = 1, map[string]int{"1": 63}
	if step := job.Next(midnight, j, []job.Part{refused}, false, room(5)); step.Parts[0].State != job.Dropped {
		t.Errorf("beyond 64 pieces: %+v", step.Parts)
	}
	j.Refusals["1"] = 62
	if step := job.Next(midnight, j, []job.Part{refused}, false, room(5)); step.Job.Refusals["1"] != 64 {
		t.Errorf("64 pieces: %+v", step.Job.Refusals)
	}
}

// Refused pieces that fill all that is read wait for no others, where no batch was accepted: else nothing would
// ever decide about them.
func TestNextDropsPageOfRefused(t *testing.T) {
	j, _ := waiting(job.Options{}, 0, 0)
	j.Waiting, j.Parts = nil, 400
	var open []job.Part
	for n := 1; n <= 300; n++ {
		open = append(open, job.Part{Number: n, Root: 1, Depth: 1, State: job.Refused, Round: 1, WaitingSince: midnight})
	}
	step := job.Next(midnight, j, open, true, room(5))
	if len(step.Parts) != 100 || step.Parts[0].State != job.Dropped {
		t.Errorf("%d parts changed", len(step.Parts))
	}
}

// A job that finds no room says so, and starts no more than there is.
func TestNextWants(t *testing.T) {
	for _, test := range []struct {
		maxBatches, most int
		wants            bool
	}{{5, 1, true}, {5, 2, false}, {1, 1, false}, {5, 0, true}} {
		j, open := waiting(job.Options{MaxBatches: test.maxBatches}, 0, 0)
		j.Waiting = nil
		open = append(open, job.Part{Number: 2, State: job.Planned, Round: 1, WaitingSince: midnight})
		if step := job.Next(midnight, j, open, false, room(test.most)); (step.Wants.For == job.WaitsForBatch) != test.wants {
			t.Errorf("%+v: %+v", test, step.Wants)
		}
	}
}
