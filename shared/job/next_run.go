package job

import (
	"slices"

	"github.com/opledger/opledger/shared/operation"
)

// drop adds a part that no batch will be made of. Parts beyond [MostParts] are such parts alone.
func (n *next) drop(round int, sources []Source) {
	n.create(round, 0, 0, slices.Clone(sources))
	p := n.Parts[len(n.Parts)-1]
	p.State, p.Problem = Dropped, n.ending()
	n.put(p)
}

// ending says why a request was not sent once more.
func (n *next) ending() string {
	switch {
	case n.Job.Cancelled != nil:
		return "the job was cancelled"
	case n.Job.Stopped != "":
		return "the job was stopped: " + n.Job.Stopped
	default:
		return "no attempt is left"
	}
}

// start plans the start of parts, while the job and the ledger have a free batch. A job that ends drops them.
func (n *next) start(free int) {
	running := 0
	for _, p := range n.open {
		if p.State.Running() {
			running++
		}
	}
	free += len(n.Free)
	n.each(func(p Part) bool {
		switch {
		case n.Job.Ending():
			p.State, p.Problem = Dropped, n.ending()
		case running >= n.Job.Options.MaxBatches || free <= 0:
			return false
		default:
			p.State = Starting
			running, free = running+1, free-1
			n.Start = append(n.Start, p.Key)
		}
		n.put(p)
		return len(n.Parts) < 3*mostConsumed
	}, Planned)
}

// cancel plans to cancel the batches of a cancelled job, and those that were released.
func (n *next) cancel() {
	for _, p := range slices.Clone(n.open) {
		ask := n.Job.Cancelled != nil && p.State == Started || p.State == Released && p.Batch != ""
		if !ask || p.CancelPlanned {
			continue
		}
		p.CancelPlanned = true
		n.Cancel = append(n.Cancel, p.Key)
		n.put(p)
	}
}

// finish plans the end of a job that has nothing open.
func (n *next) finish() {
	open := func(p Part) bool { return p.State.Open() }
	if n.more || len(n.Job.Waiting) > 0 || slices.ContainsFunc(n.open, open) {
		return
	}
	n.Job.Phase, n.Finish = Finishing, true
}

// Verdict returns the state in which a job ends, and why, in words for people; empty where it SUCCEEDED.
// It may be asked once everything is counted.
func (j Job) Verdict() (operation.State, string) {
	notDone := j.Counts.NotDone()
	switch {
	case j.Cancelled != nil:
		return operation.Cancelled, "the job was cancelled"
	case j.Options.MaxFailures.Exceeded(notDone, j.Input.Requests):
		why := "more requests were not done than --max-failures allows"
		if j.Batches == 0 && j.Refusal != "" {
			why = "Gemini refused every batch: " + j.Refusal
		}
		return operation.Failed, why
	default:
		return operation.Succeeded, ""
	}
}
