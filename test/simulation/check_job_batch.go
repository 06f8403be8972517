package simulation

import (
	"errors"
	"slices"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// creates checks a request to create the batch of a part: it was announced, and counted before.
func (c *checker) creates(s *submission, part operation.Key) {
	p, _ := c.w.partOf(part)
	c.must(p.Creations >= s.creations[part],
		"%s asks for a batch %d times, and counts %d [J5]", part, s.creations[part], p.Creations)
	c.must(slices.Contains(keysOf(c.running().Parts), part) || s.released[part],
		"%s asks for a batch, and has no place among those that run [J10]", part)
	intent, announced := c.intentOf(part)
	c.must(announced, "%s asks for a batch, and no intent says so [J3]", part)
	c.must(intent.State != ledger.IntentBound, "%s asks for a batch, and has %s [J2]", part, intent.Operation)
	c.must(p.State == job.Starting || s.released[part], "%s asks for a batch, and is %s [J3]", part, p.State)
}

// intentOf returns the intent of a part.
func (c *checker) intentOf(part operation.Key) (ledger.Intent, bool) {
	for _, d := range c.w.store.documents {
		if i, ok := d.data.(ledger.Intent); ok && i.CorrelationID == string(part) {
			return i, true
		}
	}
	return ledger.Intent{}, false
}

// created checks a batch that Gemini has created: of requests that are in no other batch, are not done, and are
// sent no more often than they may be.
func (c *checker) created(s *submission, b *batch) {
	p, _ := c.w.partOf(b.part)
	want, have := c.w.objects.requestsOf(p.Sources), []string{}
	for _, l := range b.requests {
		have = append(have, l.Key)
	}
	c.must(slices.Equal(want, have), "the batch of %s has the requests %v, not %v [J9]", b.part, have, want)
	c.sendsLost(b)
	for _, key := range have {
		sent := 0
		for _, other := range s.batches {
			if slices.ContainsFunc(other.requests, func(l line) bool { return l.Key == key }) {
				sent++
				if p.State != job.Released { // else it comes late: an operator has decided
					c.left(key, b, other)
				}
			}
		}
		c.must(sent <= s.options.MaxAttempts,
			"%s is sent %d times, and may be %d times [J5]", key, sent, s.options.MaxAttempts)
	}
	if j, _ := c.w.jobOf(s.key); j.Cancelled != nil {
		c.w.gate.met[metAfterCancel]++
	}
}

// left checks that another batch of a request has ended, and that it did not answer it for good.
func (c *checker) left(key string, b, other *batch) {
	if other == b {
		return
	}
	p, _ := c.w.partOf(other.part)
	c.must(p.State == job.Consumed || p.State == job.Released,
		"%s is in a batch of %s, and in one of %s, which is %s [J2]", key, b.part, other.part, p.State)
	c.must(other.over(c.w.gemini.now()) || p.State == job.Released,
		"%s is in a batch of %s, and %s still runs [J2]", key, b.part, other.name.Key)
	for _, l := range c.w.objects.outcomesOf(p.Final) {
		c.must(l.Key != key || p.State == job.Released, "%s is in a batch of %s, and was %s [J4]", key, b.part, l.Outcome)
	}
}

// answered checks what a submitter of a job is told.
func (c *checker) answered(s *submission, in input, err error) {
	j, known := c.w.jobOf(s.key)
	switch {
	case err == nil:
		c.must(known && j.Input.SHA256 == in.SHA256, "%s was submitted with %s, and has %s [J1]", s.key, in.SHA256,
			j.Input.SHA256)
		c.must(len(s.accepted) == 1, "%s was submitted with two inputs [J1]", s.key)
	case errors.Is(err, ledger.ErrJobDiffers):
		c.must(known && j.Input.SHA256 != in.SHA256, "%s is refused, and is the same [J1]", s.key)
		c.w.gate.met[metDiffers]++
	}
}

// settles checks the commit that ends a job: it plans the effects of the job [J8].
func (c *checker) settles(was, is operation.Record, writes []ledger.Write) {
	if is.Collection != operation.Jobs || was.Settled() || !is.Settled() {
		return
	}
	c.must(slices.ContainsFunc(writes, func(w ledger.Write) bool {
		return w.Path == ledger.EffectPath(is.Key, publishRule) && w.Token == ""
	}), "%s ends, and its effect is not planned with that [J8]", is.Key)
	j, _ := c.w.jobOf(is.Key)
	c.must(j.Phase == job.Ended, "%s ends, and its plan is %s [J8]", is.Key, j.Phase)
}
