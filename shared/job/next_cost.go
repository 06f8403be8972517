package job

// assumedOutput is how many tokens a request is taken to bring, thinking included, before any of the job was counted.
const assumedOutput = 1000

// estimate is what the batch of a part is taken to cost, in dollars: as much per request as the batches of the job that
// were counted, and before the first by the tokens that were estimated of the input and an assumed output.
func (n *next) estimate(p Part) float64 {
	if j := n.Job; j.Sent > 0 {
		return j.Price.Cost(j.Usage) / float64(j.Sent) * float64(p.Requests)
	}
	return n.Job.Price.Cost(Usage{Input: n.Job.Tokens(p.Bytes), Output: assumedOutput * p.Requests})
}

// committed is what the job has spent by the tokens that were counted, and what is reserved for the parts that run:
// never less than what is known of them [J10].
func (n *next) committed() float64 {
	sum := n.Job.Price.Cost(n.Job.Usage)
	for _, p := range n.open {
		switch counted := n.Job.Price.Cost(p.Usage); {
		case p.State.Running():
			sum += max(counted, n.estimate(p))
		case p.State == Collected, p.State == Refused: // it is added to the job's with the next step
			sum += counted
		}
	}
	return sum
}

// affords reports whether a part may be started within the job's --max-cost. Where it may not, and nothing else runs
// that may turn out cheaper than reserved, the job is held.
func (n *next) affords(p Part) bool {
	limit := n.Job.Options.MaxCost
	if limit == 0 {
		return true
	}
	if n.Job.Price == nil {
		n.hold(HeldByCost, "the model %s has no price, so that --max-cost cannot be kept", n.Job.Options.Model)
		return false
	}
	committed, next := n.committed(), n.estimate(p)
	if committed+next <= limit {
		return true
	}
	if n.started() == 0 {
		n.hold(HeldByCost, "about $%.2f were spent, the next batch would cost about $%.2f, and --max-cost allows $%.2f",
			committed, next, limit)
	}
	return false
}
