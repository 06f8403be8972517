package simulation

import (
	"slices"

	"github.com/opledger/opledger/shared/job"
)

// price is what the simulated model costs: a dollar for a thousand tokens.
var price = job.Price{Input: 1000, Output: 1000}

// cent is by how much sums of dollars may differ.
const cent = 0.01

// costs checks a commit that starts parts of a job with a limit of its cost: what its parts have cost, and what is
// estimated for those that run, is within that. Where the commit holds the job for its cost, no part runs, and the next
// would be beyond the limit [J10]. Both are reckoned from the parts alone.
func (c *checker) costs(j job.Job) {
	limit, parts := j.Options.MaxCost, c.partsOf(j.Key)
	estimate := estimateOf(parts)
	committed, running := 0.0, false
	for _, p := range parts {
		switch cost := price.Cost(p.Usage); {
		case p.State.Running():
			committed, running = committed+max(cost, estimate(p)), true
		case p.State != job.Released:
			committed += cost
		}
	}
	c.must(len(c.started) == 0 || limit == 0 || committed <= limit+cent,
		"%s starts %v and has $%.2f spent or reserved then, of $%.2f [J10]", j.Key, c.started, committed, limit)
	if !c.heldForCost {
		return
	}
	c.must(limit > 0 && !running && slices.ContainsFunc(parts, func(p job.Part) bool {
		return p.State == job.Planned && committed+estimate(p) > limit-cent
	}), "%s is held for its cost, with $%.2f spent or reserved of $%.2f [J10]", j.Key, committed, limit)
}

// estimateOf returns what the batch of a part is expected to cost: what each request of those cost that were counted.
// Before any was, it is a token for four bytes and a thousand tokens of output.
func estimateOf(parts []job.Part) func(job.Part) float64 {
	var usage job.Usage
	counted := int64(0)
	for _, p := range parts {
		if p.State == job.Consumed && p.Usage.Total() > 0 {
			requests, _ := job.Total(p.Sources)
			usage, counted = usage.Add(p.Usage), counted+requests
		}
	}
	return func(p job.Part) float64 {
		requests, bytes := job.Total(p.Sources)
		if counted > 0 {
			return price.Cost(usage) / float64(counted) * float64(requests)
		}
		return price.Cost(job.Usage{Input: bytes / 4, Output: 1000 * requests})
	}
}

// charged checks that a part which is collected counts the tokens that Gemini has reported: of each request that has a
// result once, and of no line twice [J7].
func (c *checker) charged(p job.Part) {
	b := c.batchOf(p.Batch)
	if b == nil || b.made == nil {
		return
	}
	var most, least job.Usage
	final := c.w.objects.outcomesOf(p.Final)
	for i, r := range b.requests {
		usage := b.usage(b.answers[i])
		most = most.Add(usage)
		if slices.ContainsFunc(final, func(l line) bool { return l.Key == r.Key && len(l.Response) > 0 }) {
			least = least.Add(usage)
		}
	}
	c.must(p.Usage.Total() <= most.Total() && p.Usage.Total() >= least.Total(),
		"%s counts %d tokens, and Gemini has reported from %d to %d [J7]", p.Key, p.Usage.Total(), least.Total(),
		most.Total())
}

// usage is what Gemini reports of a request.
func (m *made) usage(a answered) job.Usage {
	switch a {
	case well, longer, doubled:
		return job.Usage{Input: 20, Output: m.output}
	case blocked:
		return job.Usage{Input: 20}
	default:
		return job.Usage{}
	}
}
