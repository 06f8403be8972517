package job

import (
	"fmt"
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
	case !n.Job.DeadlineReached.IsZero():
		return "the deadline was reached"
	case n.Job.Stopped != "":
		return "the job was stopped: " + n.Job.Stopped
	default:
		return "no attempt is left"
	}
}

// start gives parts a place among the batches that run, while the job and the ledger have room, the oldest first. A
// job that ends drops them, and one that is held keeps them [J11].
func (n *next) start() {
	if held := n.Job.Hold; held != nil && held.Reason == HeldByCost { // it goes on once its next batch fits
		n.Job.Hold = nil
		defer func() {
			if n.Job.Hold != nil && n.Job.Hold.Why == held.Why {
				n.Job.Hold, n.Held = held, false
			}
		}()
	}
	n.each(func(p Part) bool {
		switch planned := p.State == Planned; {
		case !planned && (n.Job.Ending() || !p.SetAside()):
			return true
		case n.Job.Ending():
			p.State, p.Problem = Dropped, n.ending()
		case n.Job.Hold != nil:
			return false
		case planned && n.waitsForPilot(p):
			return true
		case planned && (n.started() >= n.Job.Options.MaxBatches || !n.affords(p)):
			return false
		case planned && n.Job.References.due(p, n.now):
			if p.LookUp == "" {
				p.LookUp, n.LookUp = LookUpPlanned, append(n.LookUp, p.Key)
				n.put(p)
			}
			return false
		default:
			p.TooLarge = p.TooLarge || planned && n.Job.Exceeds(p, n.room.Allowed)
			if want := n.lacks(p); want.For != "" {
				n.Wants = want
				return false
			}
			if planned {
				n.Start = append(n.Start, p.Key)
			} else {
				p.PlacedAt = n.now
			}
			p.State, p.Aside = Starting, false
		}
		n.put(p)
		return len(n.Parts) < 3*mostConsumed
	}, Planned, Starting)
}

// started counts the parts that are started, or about to be.
func (n *next) started() int {
	count := 0
	for _, p := range n.open {
		if p.State.Running() {
			count++
		}
	}
	return count
}

// long reports whether the batch of a part has run for longer than it may.
func (n *next) long(p Part) bool {
	return !p.CancelAt.IsZero() && !n.now.Before(p.CancelAt)
}

// cancel plans to cancel the batches of a job that was cancelled, or whose deadline was reached, and those that were
// released, or run for too long.
func (n *next) cancel() {
	all := n.Job.Cancelled != nil || !n.Job.DeadlineReached.IsZero()
	for _, p := range slices.Clone(n.open) {
		ask := (all || n.long(p)) && p.State == Started || p.State == Released && p.Batch != ""
		if !ask || p.CancelPlanned {
			continue
		}
		if len(n.Parts) >= 3*mostConsumed {
			return // the next step asks for the others
		}
		p.CancelPlanned = true
		n.Cancel = append(n.Cancel, p.Key)
		n.put(p)
	}
}

// finish plans the end of a job that has nothing open.
func (n *next) finish() {
	if n.done() {
		n.Job.Phase, n.Finish = Finishing, true
	}
}

// done reports whether nothing of the job is open.
func (n *next) done() bool {
	open := func(p Part) bool { return p.State.Open() }
	return !n.more && len(n.Job.Waiting) == 0 && !slices.ContainsFunc(n.open, open)
}

// Verdict returns the state in which a job ends, and why, in words for people; empty where it SUCCEEDED.
// It may be asked once everything is counted.
func (j Job) Verdict() (operation.State, string) {
	notDone := j.Counts.NotDone()
	switch {
	case j.Invalid != "":
		return operation.Failed, "the input is not valid: " + j.Invalid
	case j.Cancelled != nil:
		return operation.Cancelled, "the job was cancelled"
	case j.Options.MaxFailures.Exceeded(notDone, j.Input.Requests):
		why := fmt.Sprintf("%d of %d requests were not done, and --max-failures allows %s", notDone, j.Input.Requests,
			j.Options.MaxFailures.orZero())
		switch {
		case j.Batches == 0 && j.Refusal != "":
			why = "Gemini refused every batch: " + j.Refusal
		case !j.DeadlineReached.IsZero():
			why = fmt.Sprintf("the deadline %s was reached, and %s", instant(j.Options.Deadline), why)
		case j.Stopped != "":
			why = "the job was stopped: " + j.Stopped
		}
		return operation.Failed, why
	default:
		return operation.Succeeded, ""
	}
}
