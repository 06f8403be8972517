package simulation

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// plan checks what a commit makes of a job's plan.
func (c *checker) plan(was, is job.Job, known bool) {
	if !known {
		return
	}
	phases := []job.Phase{job.Splitting, job.Running, job.Finishing, job.Ended}
	options := was.Options
	if c.w.submissionOf(is.Key).changed {
		options.MaxCost = is.Options.MaxCost
	}
	c.must(is.Input == was.Input && reflect.DeepEqual(is.Options, options) &&
		reflect.DeepEqual(is.AsSubmitted(), was.AsSubmitted()),
		"%s had the input %s, and has %s, or other options [J1]", is.Key, was.Input.SHA256, is.Input.SHA256)
	c.must(is.Version == was.Version+1, "%s: version %d follows %d [M6]", is.Key, is.Version, was.Version)
	c.must(slices.Index(phases, is.Phase) >= slices.Index(phases, was.Phase),
		"%s was %s and is %s [J8]", is.Key, was.Phase, is.Phase)
	c.must(is.Parts >= was.Parts && is.Cut >= was.Cut && is.Batches >= was.Batches && is.Round >= was.Round,
		"%s counts less than before: %d parts after %d [J5]", is.Key, is.Parts, was.Parts)
	c.must(was.Phase != job.Ended || is.Output == was.Output, "%s has ended, and has other results now [J8]", is.Key)
	c.held(was, is)
	c.lost(is)
	for root, pieces := range was.Refusals {
		c.must(is.Refusals[root] >= pieces, "%s counts %d pieces of part %s after %d [J5]", is.Key, is.Refusals[root], root,
			pieces)
	}
}

// held checks that a job is held and goes on because an operator has asked for that, and that nothing but its deadline
// ends it for its deadline.
func (c *checker) held(was, is job.Job) {
	s, met := c.w.submissionOf(is.Key), c.w.gate.met
	switch {
	case was.Hold == nil && is.Hold != nil:
		c.must(s.paused || is.Hold.Reason != job.HeldByOperator, "%s is held, and no operator has paused it [J11]", is.Key)
		s.heldAt = time.Now()
		if is.Hold.Reason == job.HeldByOperator {
			met[metPaused]++
		}
		if is.Hold.Reason == job.HeldByReferences {
			met[metLostHeld]++
		}
		if is.Hold.Reason == job.HeldByCost {
			c.heldForCost = true
			met[metCostHeld]++
		}
	case was.Hold != nil && is.Hold == nil && was.Hold.Reason == job.HeldByCost:
		c.must(s.changed || s.resumed || is.Ending(), "%s goes on, and may cost no more than before [J10]", is.Key)
		s.heldAt = time.Time{}
		met[metCostRaised]++
	case was.Hold != nil && is.Hold == nil:
		c.must(s.resumed && is.Resumed != nil && (was.Resumed == nil || *is.Resumed != *was.Resumed),
			"%s is no longer held, and no operator has resumed it [J11]", is.Key)
		s.heldAt = time.Time{}
		met[metResumed]++
	}
	if was.DeadlineReached.IsZero() && !is.DeadlineReached.IsZero() {
		c.must(!is.DeadlineReached.Before(is.Options.Deadline), "%s has met its deadline %v before it [J12]", is.Key,
			is.Options.Deadline)
		met[metDeadline]++
	}
}

// sends checks that no batch of a job is asked for more than two minutes after the job was held, or its deadline.
func (c *checker) sends(s *submission, part operation.Key, sent, sentByStore time.Time) {
	j, _ := c.w.jobOf(s.key)
	c.must(s.heldAt.IsZero() || sent.Sub(s.heldAt) <= ledger.SubmitWithin,
		"%s asks for a batch %v after its job was held [J11]", part, sent.Sub(s.heldAt))
	deadline := j.Options.Deadline
	c.must(deadline.IsZero() || len(c.w.store.clock.sets) > 0 || sentByStore.Sub(deadline) <= ledger.SubmitWithin,
		"%s asks for a batch %v after the deadline of its job [J12]", part, sentByStore.Sub(deadline))
}

// moves are the states that a part may have after another. It stays what it is, besides.
var moves = map[job.State][]job.State{
	"":            {job.Planned, job.Starting, job.Dropped},
	job.Planned:   {job.Starting, job.Dropped, job.Collected, job.Refused},
	job.Starting:  {job.Started, job.Refused, job.Planned, job.Collected, job.Released},
	job.Started:   {job.Collected, job.Refused, job.Released},
	job.Collected: {job.Consumed},
	job.Refused:   {job.Consumed, job.Dropped},
}

// part checks what a commit makes of a part.
func (c *checker) part(was, is job.Part) {
	s := c.w.submissionOf(is.Key)
	c.must(is.State == was.State || slices.Contains(moves[was.State], is.State),
		"%s was %s and is %s [J6]", is.Key, was.State, is.State)
	c.must(was.Key == "" || is.Round == was.Round && is.Requests == was.Requests,
		"%s was of round %d and is of %d [J5]", is.Key, was.Round, is.Round)
	c.must(is.Creations >= was.Creations, "%s counts %d creations after %d [J5]", is.Key, is.Creations, was.Creations)
	c.must(is.State == job.Dropped || is.Round <= s.options.MaxAttempts,
		"%s is of round %d, of %d [J5]", is.Key, is.Round, s.options.MaxAttempts)
	c.must(was.Batch == "" || is.Batch == was.Batch, "%s had the batch %s, and has %s [J2]", is.Key, was.Batch, is.Batch)
	c.ends(s, was, is)
	c.named(is)
	if len(was.Seen) == 0 && len(is.Seen) > 0 {
		c.w.gate.met[metChunk]++
	}
	if was.State != job.Starting && is.State == job.Starting {
		c.lostFor[is.Key] = maps.Clone(c.lostFiles)
	}
	if was.State == job.Planned && is.State == job.Starting {
		c.started = append(c.started, is.Key)
	}
	if was.State != job.Collected && is.State == job.Collected {
		c.charged(is)
		c.collected(is)
	}
}

// named checks that what a part names is in job storage as it says.
func (c *checker) named(p job.Part) {
	for _, o := range slices.Concat(p.Final, p.Failed, p.Unmatched, p.Seen) {
		held := c.w.objects.held[o.Name]
		c.must(held != nil && job.Object(held.Object) == o,
			"%s names the object %s, which is not as it says [J4]", p.Key, o.Name)
	}
}

// ends checks that nothing but Gemini's terminal state, or an operator, ends a batch.
func (c *checker) ends(s *submission, was, is job.Part) {
	b := c.batchOf(is.Batch)
	ended := b != nil && b.made != nil && b.part == is.Key && b.over(c.w.gemini.now())
	met := c.w.gate.met
	switch {
	case is.State == was.State:
	case is.State == job.Collected:
		c.must(ended, "%s is collected, and its batch %s has not ended [J6]", is.Key, is.Batch)
	case is.State == job.Refused && is.Batch != "":
		c.must(ended && b.invalid, "%s is refused, and its batch %s was not [J6]", is.Key, is.Batch)
		met[metRefusedLate]++
	case is.State == job.Refused:
		met[metRefused]++
	case is.State == job.Released:
		c.must(s.released[is.Key] && is.Released != nil, "%s is released, and no operator has asked for that [J6]", is.Key)
		met[metReleased]++
	case is.State == job.Planned && was.State == job.Starting:
		c.must(!slices.ContainsFunc(s.batches, func(b *batch) bool { return b.part == is.Key }),
			"%s waits again, and has a batch [J6]", is.Key)
		met[metGivenUp]++
	case is.State == job.Dropped:
		met[metDropped]++
	}
}

// over reports whether a batch has ended at a time.
func (b *batch) over(at time.Time) bool {
	state, _ := b.state(at)
	return state.Terminal()
}

// collected checks that each request of a part has one final line, or is sent again.
func (c *checker) collected(p job.Part) {
	o := c.w.objects
	times := map[string]int{}
	for _, l := range o.outcomesOf(p.Final) {
		times[l.Key]++
		c.must(times[l.Key] == 1, "%s has the final line of %s %d times [J7]", p.Key, l.Key, times[l.Key])
	}
	for _, key := range o.requestsOf(p.Again) {
		times[key]++
		c.must(times[key] == 1, "%s sends %s again, which is final [J4]", p.Key, key)
		c.w.gate.met[metAgain]++
	}
	for _, key := range o.requestsOf(p.Sources) {
		c.must(times[key] == 1, "%s has lost %s [J7]", p.Key, key)
		delete(times, key)
	}
	c.must(len(times) == 0, "%s has lines of %v, which are none of its requests [J9]", p.Key, times)
}

// conserved checks that each request of a job is in one part that is neither consumed nor released, or waits
// for one, or is final.
func (c *checker) conserved(j job.Job) {
	s := c.w.submissionOf(j.Key)
	if s == nil || j.Phase == job.Splitting || j.Invalid != "" {
		return
	}
	o := c.w.objects
	times, final := map[string]int{}, map[string]bool{}
	given := func(sources []job.Source) {
		for _, key := range o.requestsOf(sources) {
			times[key]++
			c.must(!final[key], "%s: %s is final, and is given out again [J4]", j.Key, key)
		}
	}
	parts := c.partsOf(j.Key)
	for _, p := range parts {
		c.named(p)
		if p.State == job.Consumed {
			for _, l := range o.outcomesOf(p.Final) {
				times[l.Key]++
				final[l.Key] = true
			}
		}
	}
	for _, p := range parts {
		if p.State.Open() || p.State == job.Dropped {
			given(p.Sources)
		}
	}
	for _, g := range j.Waiting {
		given(g.Sources)
	}
	for _, l := range s.inputOf(j).lines {
		c.must(times[l.Key] > 0, "%s: %s is in no part [J7]", j.Key, l.Key)
		c.must(times[l.Key] < 2, "%s: %s is in %d parts [J2]", j.Key, l.Key, times[l.Key])
	}
}

// piloted checks that nothing behind the pilot of a job is started before all requests of that are final, nor then
// while too many of them are not done, unless an operator has resumed the job [J13].
func (c *checker) piloted(j job.Job) {
	parts := c.partsOf(j.Key)
	if s := c.w.submissionOf(j.Key); s == nil || s.resumed || j.Options.Pilot == 0 || len(parts) == 0 {
		return
	}
	o := c.w.objects
	pilot := o.requestsOf(parts[0].Sources)
	final, done := map[string]bool{}, int64(0)
	for _, p := range parts {
		for _, l := range o.outcomesOf(p.Final) {
			if p.State == job.Consumed && slices.Contains(pilot, l.Key) {
				final[l.Key] = true
				done += l.Outcome.Counts().Done
			}
		}
		if p.State == job.Dropped {
			for _, key := range o.requestsOf(p.Sources) {
				final[key] = true
			}
		}
	}
	requests := int64(len(pilot))
	open := slices.ContainsFunc(pilot, func(key string) bool { return !final[key] })
	for _, p := range parts {
		rest := !slices.Contains(pilot, o.requestsOf(p.Sources)[0]) && p.State != job.Planned && p.State != job.Dropped
		c.must(!rest || !open && !j.Options.PilotFailures.Exceeded(requests-done, requests),
			"%s is %s, and of its pilot's %d requests %d are done [J13]", p.Key, p.State, requests, done)
	}
	if j.Hold != nil && j.Hold.Reason == job.HeldByPilot {
		c.w.gate.met[metPilotHeld]++
	}
}

// inputOf returns what was submitted as a job.
func (s *submission) inputOf(j job.Job) input {
	i := slices.IndexFunc(s.inputs, func(in input) bool { return in.SHA256 == j.Input.SHA256 })
	return s.inputs[max(i, 0)]
}

// partsOf returns the parts of a job as the store has them.
func (c *checker) partsOf(key operation.Key) []job.Part {
	var parts []job.Part
	for _, d := range c.w.store.documents {
		if p, ok := d.data.(job.Part); ok && d.path.Parent() == ledger.JobPath(key) {
			parts = append(parts, p)
		}
	}
	slices.SortFunc(parts, func(a, b job.Part) int { return a.Number - b.Number })
	return parts
}
