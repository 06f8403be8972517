package simulation

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// openJob returns what a job, or a submitter of it, still waits for; empty where there is nothing.
func (c *checker) openJob(s *submission) string {
	j, known := c.w.jobOf(s.key)
	rec, _ := dataOf[operation.Record](c.w.store.documents[ledger.OperationPath(s.key)])
	switch {
	case s.callers > 0:
		return fmt.Sprintf("%s may be submitted", s.key)
	case known && !rec.Settled():
		return fmt.Sprintf("%s is %s", s.key, j.Phase)
	}
	for _, b := range s.batches {
		if rec, _ := c.recordOf(b); !rec.Registered {
			return fmt.Sprintf("%s, of %s, is not registered", short(b.name.Key), b.part)
		}
	}
	return ""
}

// endJob checks what must hold of a job when the world has come to rest.
func (c *checker) endJob(s *submission) {
	j, known := c.w.jobOf(s.key)
	if !known {
		c.must(len(s.batches) == 0 && len(s.accepted) < 2, "%s is lost [J1]", s.key)
		return
	}
	rec, _ := dataOf[operation.Record](c.w.store.documents[ledger.OperationPath(s.key)])
	effect, planned := dataOf[ledger.Effect](c.w.store.documents[ledger.EffectPath(s.key, publishRule)])
	c.must(rec.Settled() && j.Phase == job.Ended, "%s is %s, and its record says %s [J8]", s.key, j.Phase, rec.State)
	c.must(planned && (effect.State == ledger.EffectDone || effect.State == ledger.EffectDead),
		"%s has ended, and its effect is %q [J8]", s.key, effect.State)
	if j.Invalid != "" {
		c.violated("%s is found invalid: %s [J7]", s.key, j.Invalid)
		return
	}
	counts := c.outputs(s, j)
	c.must(counts == j.Counts, "%s counts %+v, and its results have %+v [J7]", s.key, j.Counts, counts)
	c.verdict(s, j, rec.State)
	var usage job.Usage
	for _, p := range c.partsOf(s.key) {
		if p.State == job.Consumed {
			usage = usage.Add(p.Usage)
		}
		c.must(!p.State.Open(), "%s has ended, and its part %d is %s [J8]", s.key, p.Number, p.State)
	}
	c.must(j.Usage == usage, "%s has spent %+v, and its parts %+v [J7]", s.key, j.Usage, usage)
	for _, key := range keysOf(c.running().Parts) {
		c.must(c.w.submissionOf(key) != s, "%s has ended, and %s has its place still [J10]", s.key, key)
	}
	for _, held := range c.running().HeldJobs() {
		c.must(held.Job != s.key, "%s has ended, and is listed as held still [J11]", s.key)
	}
	for _, b := range s.batches {
		c.batchOfJob(b)
	}
}

// verdict checks the state in which a job has ended.
func (c *checker) verdict(s *submission, j job.Job, state operation.State) {
	met := c.w.gate.met
	failures := j.Options.MaxFailures.Exceeded(j.Counts.NotDone(), j.Input.Requests)
	switch state {
	case operation.Cancelled:
		c.must(s.cancelled && j.Cancelled != nil, "%s is CANCELLED, and no operator has asked for that [J8]", s.key)
		met[metJobCancelled]++
	case operation.Succeeded:
		c.must(!failures && j.Cancelled == nil, "%s is SUCCEEDED with %+v [J8]", s.key, j.Counts)
	default:
		c.must(state == operation.Failed && failures, "%s is %s with %+v [J8]", s.key, state, j.Counts)
	}
	if j.Stopped != "" {
		met[metStopped]++
	}
}

// outputs checks the lines of a job's results, and counts them.
func (c *checker) outputs(s *submission, j job.Job) job.Counts {
	objects, in := c.w.objects, s.inputOf(j)
	counts := job.Counts{Unmatched: int64(len(objects.linesOf(j.Output.Unmatched.Name)))}
	times := map[string]int{}
	for _, l := range objects.linesOf(j.Output.Results.Name) {
		times[l.Key]++
		counts = counts.Add(l.Outcome.Counts())
		if l.Outcome == job.OutcomeRefused && l.Batch == "" {
			if i := slices.IndexFunc(in.lines, func(r line) bool { return r.Key == l.Key }); i >= 0 { // else see below
				c.unsent(s, in.lines[i])
			}
			continue
		}
		c.belongs(s, l)
	}
	failed := objects.linesOf(j.Output.Failed.Name)
	c.must(int64(len(failed)) == counts.NotDone(), "%s: %d lines have failed, and %d requests [J7]", s.key, len(failed),
		counts.NotDone())
	for _, l := range in.lines {
		c.must(times[l.Key] == 1, "%s: %s is in the results %d times [J7]", s.key, l.Key, times[l.Key])
		delete(times, l.Key)
		for _, f := range failed {
			c.must(f.Key != l.Key || bytes.Equal(f.Request, l.Request), "%s: %s has failed with the request of another [J9]",
				s.key, l.Key)
		}
	}
	c.must(len(times) == 0, "%s: the results have %v, which nothing asked for [J9]", s.key, times)
	return counts
}

// belongs checks that a line of the results is what Gemini has answered to its key.
func (c *checker) belongs(s *submission, l line) {
	c.must(l.Attempts <= s.options.MaxAttempts, "%s: %s was sent %d times [J5]", s.key, l.Key, l.Attempts)
	outcomes := map[job.Outcome][]answered{
		job.OutcomeDone: {well, doubled}, job.OutcomeTruncated: {longer}, job.OutcomeRefused: {blocked},
	}
	if l.Outcome == job.OutcomeFailed {
		return
	}
	b := c.batchOf(operation.Key(l.Batch))
	if b == nil || b.made == nil {
		c.violated("%s: %s is %s by %s, which is no batch [J9]", s.key, l.Key, l.Outcome, l.Batch)
		return
	}
	i := slices.IndexFunc(b.requests, func(r line) bool { return r.Key == l.Key })
	c.must(i >= 0 && slices.Contains(outcomes[l.Outcome], b.answers[max(i, 0)]),
		"%s: %s is %s, and Gemini did not answer so [J9]", s.key, l.Key, l.Outcome)
	c.must(l.Outcome == job.OutcomeRefused || strings.Contains(string(l.Response), `"`+b.textFor(l.Key)+`"`),
		"%s: %s has the answer to another: %s [J9]", s.key, l.Key, l.Response)
}

// batchOfJob checks that a batch of a job is known, and runs no effect of its own but its collect [J8].
func (c *checker) batchOfJob(b *batch) {
	rec, ok := c.recordOf(b)
	c.must(ok && rec.Registered && rec.CorrelationID == string(b.part), "%s, of %s, is lost [J3]", b.name.Key, b.part)
	c.must(b.ends.IsZero() || rec.State == b.end, "%s ended %s, and the ledger says %s [R2]", b.name.Key, b.end, rec.State)
	for name := range rec.Effects {
		c.must(name == job.StepCollect || ledger.RuleOf(name) == pageRule,
			"%s, of %s, runs %s [J8]", b.name.Key, b.part, name)
	}
}
