package job

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// The names of the steps: effects whose rules no user has.
const (
	StepSplit   = "job-split"
	StepStart   = "job-start"
	StepCollect = "job-collect"
	StepCancel  = "job-cancel"
	StepFinish  = "job-finish"
	StepTidy    = "job-tidy"
	// StepReferences looks up what the requests name at Gemini.
	StepReferences = "job-references"
)

// IsStep reports whether an effect of this name is a step of a job.
func IsStep(name string) bool {
	return slices.Contains([]string{
		StepSplit, StepReferences, StepStart, StepCollect, StepCancel, StepFinish, StepTidy,
	}, name)
}

const (
	// gatherFor is how long open requests wait for others before they get a batch.
	gatherFor = time.Hour
	// mostSources bounds the sources of one part, so that its document stays small.
	mostSources = 500
	// mostPieces bounds the batches that are made of one part whose batches are refused.
	mostPieces = 64
	// mostRoots bounds the parts of which a job counts the pieces.
	mostRoots = 500
)

// A Step is what Next decided: the job as it is to be stored, with what is written in the same commit.
type Step struct {
	Job Job
	// Parts are the parts that changed or are new.
	Parts []Part
	// Start, Cancel and LookUp are parts whose step is to be planned. Finish: that of the job is.
	Start, Cancel, LookUp []operation.Key
	Finish                bool
	// DeadlineReached: this step has found that the deadline is past.
	DeadlineReached bool
	// Held: the step holds the job.
	Held bool
	// Wants is what the job lacks to start its next batch, if it lacks anything that others may leave it.
	Wants Want
	// Running are the parts that count as batches that run, once the step is taken. Parts that were not
	// given to Next are not among them.
	Running []Place
}

// Changed reports whether there is anything to write.
func (s Step) Changed() bool {
	return len(s.Parts) > 0 || s.Finish || len(s.Cancel) > 0 || s.DeadlineReached || s.Held
}

// Next decides what a job does next. open are the parts that are open, the oldest first: all of them, or
// as many as more says there are behind them. room is what other jobs leave it. Everything in a Step is one
// commit; then Next is called again.
func Next(now time.Time, j Job, open []Part, more bool, room Room) Step {
	n := next{Step: Step{Job: j}, now: operation.Instant(now), open: open, more: more, room: room}
	n.Job.Waiting = slices.Clone(j.Waiting)
	if j.Phase == Running {
		n.consume()
		n.deadline()
		n.stop()
		n.split()
		n.gather()
		n.pilot()
		n.references()
		n.start()
		n.cancel()
		n.finish()
	}
	if n.Changed() {
		n.Job.SteppedAt = n.now
	}
	n.Step.Running = n.running()
	return n.Step
}

// A next is one decision. open has the parts as they are decided so far.
type next struct {
	Step
	now  time.Time
	open []Part
	more bool
	room Room
}

// put replaces or adds a part.
func (n *next) put(p Part) {
	if !p.State.Open() {
		p.WaitingSince = time.Time{}
	}
	same := func(other Part) bool { return other.Number == p.Number }
	for _, list := range []*[]Part{&n.Parts, &n.open} {
		if i := slices.IndexFunc(*list, same); i >= 0 {
			(*list)[i] = p
		} else {
			*list = append(*list, p)
		}
	}
}

// each calls decide for every part in one of the states, until it returns false.
func (n *next) each(decide func(Part) bool, states ...State) {
	for _, p := range slices.Clone(n.open) {
		if slices.Contains(states, p.State) && !decide(p) {
			return
		}
	}
}

// mostConsumed bounds the parts of one commit.
const mostConsumed = 100

// consume counts what was collected or released, and gives the open requests to parts of the next round.
func (n *next) consume() {
	n.each(func(p Part) bool {
		n.Job.Batches++
		n.Job.Counts, n.Job.Usage = n.Job.Counts.Add(p.Counts), n.Job.Usage.Add(p.Usage)
		n.wait(p.Round+1, p.Again)
		if p.Usage.Total() > 0 {
			n.Job.Sent += p.Requests
		}
		n.fail(p.Failures)
		p.State = Consumed
		n.put(p)
		return len(n.Parts) < mostConsumed
	}, Collected)
	n.each(func(p Part) bool {
		if p.Released == nil {
			return true
		}
		n.wait(p.Round+1, p.Sources) // its batch may still run: the round counts [J5]
		n.Job.Twins++
		p.State = Released
		n.put(p)
		return len(n.Parts) < mostConsumed
	}, Starting, Started)
}

// fail adds examples of requests that ended otherwise than done, as far as there is room for them.
func (n *next) fail(examples []Failure) {
	n.Job.Failures = WithFailures(n.Job.Failures, examples...)
}

// wait adds sources to those that wait for a part of a round. What has no attempt left waits to be made
// final.
func (n *next) wait(round int, sources []Source) {
	if len(sources) == 0 {
		return
	}
	i := slices.IndexFunc(n.Job.Waiting, func(g Gathering) bool { return g.Round == round })
	if i < 0 {
		n.Job.Waiting = append(n.Job.Waiting, Gathering{Round: round, Since: n.now})
		i = len(n.Job.Waiting) - 1
	}
	g := &n.Job.Waiting[i]
	g.Sources = slices.Concat(g.Sources, sources)
	g.Requests, g.Bytes = Total(g.Sources)
}

// stop stops a job that has too many failures.
func (n *next) stop() {
	if j := n.Job; j.Stopped == "" && j.Options.StopAfter != "" &&
		j.Options.StopAfter.Exceeded(j.Counts.NotDone(), j.Input.Requests) {
		n.Job.Stopped = strconv.FormatInt(j.Counts.NotDone(), 10) + " requests were not done, more than " +
			string(j.Options.StopAfter)
	}
}

// deadline ends a job whose deadline is past, unless nothing of it is open [J12].
func (n *next) deadline() {
	if n.Job.DeadlineReached.IsZero() && n.Job.Late(n.now) && !n.done() {
		n.Job.DeadlineReached, n.DeadlineReached = n.now, true
	}
}

// Ending reports whether no further batch is started, because the job was cancelled or stopped, or its deadline was
// reached.
func (j Job) Ending() bool {
	return j.Cancelled != nil || j.Stopped != "" || !j.DeadlineReached.IsZero()
}

// Held reports whether the job waits for someone to resume it.
func (j Job) Held() bool {
	return j.Hold != nil && !j.Ending() && (j.Phase == Splitting || j.Phase == Running)
}

// Starts reports whether the job may start batches now: it neither ends nor is held [J11].
func (j Job) Starts() bool { return !j.Ending() && j.Hold == nil }

// AlertsHold reports whether an alert is due that opledger holds the job.
func (j Job) AlertsHold() bool {
	return !j.Ending() && j.Hold != nil && j.Hold.Reason != HeldByOperator && !j.Hold.Alerted
}

// create adds a part of these sources.
func (n *next) create(round, root, depth int, sources []Source) {
	n.Job.Parts++
	n.Job.Round = max(n.Job.Round, round)
	p := Part{
		Key: operation.PartKey(n.Job.Key, n.Job.Parts), Number: n.Job.Parts, Round: round, Root: root, Depth: depth,
		State: Planned, Sources: sources, CreatedAt: n.now, WaitingSince: n.now,
	}
	if n.Job.Pilot > 0 {
		p.WaitingSince = n.Job.CreatedAt
	}
	p.Requests, p.Bytes = Total(sources)
	n.put(p)
}

// split makes parts of the pieces of those that Gemini refused as a whole. A piece that is refused, too, is
// split only once another batch was accepted: what all batches are refused for is not in the requests.
func (n *next) split() {
	n.each(func(p Part) bool {
		root, round := cmp.Or(p.Root, p.Number), p.Round
		if p.Batch != "" { // Gemini had taken it: its requests were sent [J5]
			round++
		}
		switch {
		case p.Unreferenced:
			n.refuse(p)
			return len(n.Parts) < mostConsumed
		case p.TooLarge:
			n.divide(p)
			return len(n.Parts) < mostConsumed
		}
		made := n.Job.Refusals[strconv.Itoa(root)]
		n.Job.Refusal = cmp.Or(p.Problem, n.Job.Refusal)
		accepted := n.Job.Batches > 0 || slices.ContainsFunc(n.open, func(o Part) bool { return o.State == Started })
		// A page of refused pieces alone says of those behind it that they wait for these.
		others := slices.ContainsFunc(n.open, func(o Part) bool {
			return o.Number != p.Number && o.State != Refused && o.State.Open() && !n.waitsForPilot(o)
		})
		switch {
		case p.Depth > 0 && !accepted && others:
			return true // what becomes of the others decides
		case n.Job.Ending(), p.Depth > 0 && !accepted, len(p.Pieces) < 2, made+len(p.Pieces) > mostPieces,
			made == 0 && len(n.Job.Refusals) >= mostRoots, n.full(len(p.Pieces)), round > n.Job.Options.MaxAttempts:
			p.State = Dropped
		default:
			refusals := map[string]int{}
			maps.Copy(refusals, n.Job.Refusals)
			refusals[strconv.Itoa(root)] = made + len(p.Pieces)
			n.Job.Refusals = refusals
			for _, piece := range p.Pieces {
				n.create(round, root, p.Depth+1, []Source{piece})
			}
			p.State = Consumed
		}
		n.Job.Usage = n.Job.Usage.Add(p.Usage)
		n.put(p)
		return len(n.Parts) < mostConsumed
	}, Refused)
}

// divide makes parts of the pieces of one that is too large for the quota of tokens: nothing was refused for its
// requests, so it is still the same round, and counts as no refusal [J5].
func (n *next) divide(p Part) {
	p.State = Dropped
	if !n.Job.Ending() && len(p.Pieces) > 1 && !n.full(len(p.Pieces)) {
		for _, piece := range p.Pieces {
			n.create(p.Round, n.rootOf(p), p.Depth, []Source{piece})
		}
		p.State = Consumed
	}
	n.put(p)
}

// rootOf is the part that what is left of p is a piece of, where nothing was refused for its requests: none, but what
// is left of the pilot is the pilot's [J13].
func (n *next) rootOf(p Part) int {
	if n.Job.Pilot > 0 {
		return cmp.Or(p.Root, p.Number)
	}
	return p.Root
}

// full reports whether the job may have no further parts of that number.
func (n *next) full(parts int) bool { return n.Job.Parts+parts > MostParts }

// gather makes parts of requests that wait for others: of as many as fill a batch; of the rest once nothing
// else runs, or an hour later. In a job that ends they become final.
func (n *next) gather() {
	var rest []Gathering
	for _, g := range n.Job.Waiting {
		for len(g.Sources) > 0 && len(n.Parts) < 2*mostConsumed {
			taken, full := n.fill(g.Sources)
			switch {
			case n.Job.Ending() || g.Round > n.Job.Options.MaxAttempts || n.full(1):
				n.drop(g.Round, g.Sources[:taken:taken])
			case full || n.idle() || !n.now.Before(g.Since.Add(gatherFor)):
				n.create(g.Round, 0, 0, slices.Clone(g.Sources[:taken:taken]))
			default:
				taken = 0
			}
			if taken == 0 {
				break
			}
			g.Sources, g.Since = slices.Clone(g.Sources[taken:]), n.now
			g.Requests, g.Bytes = Total(g.Sources)
		}
		if len(g.Sources) > 0 {
			rest = append(rest, g)
		}
	}
	n.Job.Waiting = rest
}

// fill returns how many of the sources one batch takes, and whether that batch is full.
func (n *next) fill(sources []Source) (taken int, full bool) {
	var requests, bytes int64
	o := n.Job.Within(n.room.Allowed)
	for i, s := range sources {
		requests, bytes = requests+s.Requests, bytes+s.Length
		over := requests > o.MaxRequestsPerBatch || bytes > o.MaxBytesPerBatch
		if i > 0 && over || i == mostSources {
			return i, true
		}
	}
	return len(sources), requests >= o.MaxRequestsPerBatch || bytes >= o.MaxBytesPerBatch
}
