package console

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/receivers"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A subject is what an action is done to: an operation, a job's part, one of their effects, or a quarantined
// delivery.
type subject struct {
	Record   operation.Record
	Conflict bool                // another terminal state was reported than the one that stands
	Effect   ledger.Effect       // without a Name: none
	Delivery *ledger.Quarantined // nil: none
	// Job is the job itself, or that of Part; nil: none, or it has expired.
	Job *job.Job
	// Part is the part itself, or the one whose batch the operation is; nil: none.
	Part *job.Part
	// Group is the effects that one receiver gets; nil: none.
	Group *receivers.Group
	// Intent is the submitter's; nil: none.
	Intent *ledger.Intent
	// PausedBy says who says that effects are paused, where the subject is the pause; empty: it is another.
	PausedBy string
	// LeftOut is the effect that a start left out; nil: the subject is another.
	LeftOut *ledger.LeftOut
	view    phrase.EffectView
}

// storySubject is the operation that a story is about.
func storySubject(story ledger.Story, view phrase.EffectView) subject {
	r := story.Record
	return subject{Record: r, view: view, Conflict: r.Conflicted() || !r.Resolved() && slices.ContainsFunc(
		story.Deliveries, // the record does not say so where an earlier version ingested the event
		func(d ledger.Delivery) bool { return d.Outcome == ledger.Conflict })}
}

// with is one effect of the operation.
func (s subject) with(e ledger.Effect) subject {
	s.Effect = e
	return s
}

// named is what the address of a question, and a command, name the subject by.
func (s subject) named() (key, effect string) {
	switch {
	case s.Delivery != nil:
		return s.Delivery.ID, ""
	case s.Group != nil:
		return s.Group.Receiver, s.Group.Effect
	case s.Intent != nil:
		return s.Intent.CorrelationID, ""
	case s.LeftOut != nil:
		return s.LeftOut.Rule.Name, ""
	default:
		return string(s.Record.Key), s.Effect.Name
	}
}

// ofOperation reports whether the subject is an operation itself.
func (s subject) ofOperation() bool {
	return s.Effect.Name == "" && s.Delivery == nil && s.Group == nil && s.Intent == nil &&
		s.PausedBy == "" && s.LeftOut == nil
}

// ofJob reports whether the subject is a job itself, which has not expired.
func (s subject) ofJob() bool { return s.ofOperation() && s.isJob() && s.Job != nil }

// batching reports whether the subject is a job itself that may have batches to start.
func (s subject) batching() bool {
	return s.ofJob() && (s.Job.Phase == job.Splitting || s.Job.Phase == job.Running)
}

// isJob reports whether the subject is a job, or an effect of it.
func (s subject) isJob() bool { return s.Record.Key.Collection() == operation.Jobs && s.Part == nil }

// isPart reports whether the subject is a part of a job, or an effect of it.
func (s subject) isPart() bool { return s.Part != nil && s.Part.Key == s.Record.Key }

// needed reports whether a job that has not ended needs the subject. The ledger then refuses to give it up.
func (s subject) needed() bool {
	return s.Job != nil && s.Job.Phase != job.Ended && (s.Part == nil || s.Part.State.Open())
}

// withheld reports whether the effect is none yet: the record names it, and it was never planned.
func (s subject) withheld() bool {
	return s.Effect.Name != "" && s.Record.Effects[s.Effect.Name] == operation.EffectWithheld
}

// Seen is what a question was asked about, in words. While it stays the same, so does the answer.
func (s subject) Seen() string {
	switch {
	case s.PausedBy != "":
		return "paused"
	case s.LeftOut != nil:
		return leftOutSeen(*s.LeftOut)
	case s.Intent != nil:
		return phrase.IntentState(*s.Intent)
	case s.Group != nil:
		return fmt.Sprintf("%d dead, %d backing off", len(s.Group.Dead), len(s.Group.Failing))
	case s.Delivery != nil && s.Delivery.Resolved != nil:
		return phrase.Quarantined(*s.Delivery)
	case s.Delivery != nil && s.Delivery.Outcome == "":
		return "not retried"
	case s.Delivery != nil:
		return "retried: " + phrase.Safe(string(s.Delivery.Outcome))
	case s.withheld():
		return "withheld"
	case s.Effect.Name != "":
		return fmt.Sprintf("%s, after %s and %s", phrase.EffectState(s.Effect), phrase.Counted(int(s.Effect.Fence), "claim"),
			phrase.Counted(s.Effect.Runs, "rerun"))
	case s.isPart():
		return partSeen(*s.Part)
	case s.isJob() && s.Job != nil:
		return jobSeen(*s.Job)
	case s.Record.Conflicted():
		return phrase.State(s.Record) + ", while " + phrase.Conflict(s.Record)
	case s.ofOperation() && s.Record.Version > 0 && !s.Record.Registered:
		return phrase.State(s.Record) + ", not registered: " + phrase.Unregistered(s.Record)
	default:
		return phrase.State(s.Record)
	}
}

// story reads what the ledger has of an operation, a job or a part, and makes it a subject. A part without
// effects has no story. ErrNotFound: the ledger has nothing with that name.
func (c *Console) story(r *request, key operation.Key, view phrase.EffectView) (ledger.Story, subject, error) {
	story, err := c.ledger.Operations.Show(r, key)
	missing := errors.Is(err, ledger.ErrNotFound)
	if err != nil && !missing {
		return story, subject{}, err
	}
	s := storySubject(story, view)
	s.Record.Key = key
	jobErr := c.readJob(r, &s)
	if unreadable, is := errors.AsType[ledger.Broken](jobErr); is {
		story.Broken, jobErr = append(story.Broken, unreadable), nil
	}
	if jobErr == nil && missing && s.Job == nil && len(story.Broken) == 0 {
		return story, s, err
	}
	return story, s, jobErr
}

// readJob reads the job that the subject is, or whose part or batch it is: two documents at most. One that
// has expired leaves the subject as it is.
func (c *Console) readJob(r *request, s *subject) error {
	part := s.Record.Key
	if s.Record.IsPart() {
		part = operation.Key(s.Record.CorrelationID)
	}
	if _, _, isPart := operation.ParsePart(string(part)); isPart {
		p, j, err := c.ledger.Jobs.Part(r, part)
		if err == nil {
			s.Part, s.Job = &p.Part, &j.Job
		}
		return unlessExpired(err)
	}
	if part.Collection() != operation.Jobs {
		return nil
	}
	j, err := c.ledger.Jobs.Read(r, part)
	if err == nil {
		s.Job = &j.Job
	}
	return unlessExpired(err)
}

func unlessExpired(err error) error {
	if errors.Is(err, ledger.ErrNoJob) {
		return nil
	}
	return err
}
