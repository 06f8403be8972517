package simulation

import (
	"bytes"
	"regexp"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// JobFlaws returns the flaws of jobs.
func JobFlaws() []Flaw {
	return []Flaw{
		NoFirst, NoWait, NoIntent, AllAgain, NoCreations, NoRounds, EarlyEnd, NoSeen, NoEffects, ByPlace, NoFenceNamed,
		NoHold, NoDeadline, NoReserved, NoPilot, NoSpent, NoCosts, NoIdle, NoHour,
		NoRedriven, NoGone,
	}
}

// ofJob reports whether a document is the plan of a job, or belongs to its record.
func ofJob(path ledger.Path) bool {
	return path.Collection() == ledger.JobsCollection ||
		strings.HasPrefix(string(path), string(ledger.OperationPath(operation.Key(operation.Jobs)+"/")))
}

// drops reports whether the store does not keep a write.
func (f Flaw) drops(w ledger.Write) bool {
	switch data := w.Data.(type) {
	case ledger.Intent:
		return f == NoIntent
	case ledger.Effect:
		return f == NoEffects && data.Name == publishRule && data.Operation.Collection() == operation.Jobs
	default:
		return false
	}
}

// showsOfJob changes what is read of a part or of an intent.
func (f Flaw) showsOfJob(into any) {
	if i, ok := into.(*ledger.Intent); ok && f == NoWait && i.Attempt != nil {
		i.Attempt.ListedAt = i.Attempt.At.Add(time.Minute)
	}
	if j, ok := into.(*job.Job); ok {
		f.showsPlan(j)
	}
	if s, ok := into.(*ledger.RunningBatches); ok {
		f.showsRunning(s)
	}
	p, ok := into.(*job.Part)
	switch {
	case !ok:
	case f == AllAgain && p.State == job.Collected:
		p.Again = p.Sources
	case f == NoCreations:
		p.Creations = 0
	case f == NoRounds:
		p.Round = 1
	case f == EarlyEnd && p.State == job.Started:
		p.State = job.Collected
	case f == NoSeen:
		p.Seen = nil
	}
}

// showsPlan changes what is read of a job's plan.
func (f Flaw) showsPlan(j *job.Job) {
	switch {
	case f == NoHold:
		j.Hold = nil
	case f == NoDeadline && !j.Options.Deadline.IsZero():
		j.Options.Deadline = j.Options.Deadline.Add(far)
	case f == NoPilot:
		j.Pilot = 0
	case f == NoSpent:
		j.Usage, j.Sent = job.Usage{}, 0
	case f == NoRedriven:
		j.RedrivenBy = nil
	case f == NoGone:
		j.References.Gone, j.References.Expires = 0, time.Time{}
	}
}

// showsRunning changes what is read of the batches that run.
func (f Flaw) showsRunning(s *ledger.RunningBatches) {
	if f == NoReserved {
		s.Tokens = nil
	}
	for model, m := range s.Models {
		if f == NoHour {
			m.HalvedAt = m.HalvedAt.Add(-time.Hour)
		}
		s.Models[model] = m
	}
}

// fenced finds the fencing token in the name of an object that a step wrote.
var fenced = regexp.MustCompile(`/\d+-(\w+-\d+\.jsonl)$`)

// provokes returns what a call to Gemini or to job storage often meets in a world with the flaw: what the guard is
// there for is rare.
func (f Flaw) provokes(call string) []fate {
	switch {
	case f == NoFenceNamed && fenced.MatchString(call) && strings.Contains(call, "-results-"):
		return []fate{late}
	case f == NoWait && call == creating:
		return []fate{answerLost, late}
	default:
		return nil
	}
}

// An extra is something that few worlds have.
type extra uint8

const (
	largeJob extra = iota // one batch that Gemini does not take
	knownQuota
	costLimit
	secondJob
	lostReferences
)

// needs reports whether every world with the flaw has something.
func (f Flaw) needs(e extra) bool {
	switch e {
	case largeJob:
		return f == NoIdle || f == NoHour
	case lostReferences:
		return f == NoGone
	case knownQuota, secondJob:
		return f == NoReserved
	default:
		return f == NoSpent || f == NoCosts
	}
}

// model is the model that Gemini says a batch is of.
func (f Flaw) model() string {
	if f == NoIdle {
		return "models/another"
	}
	return "models/" + simulatedModel
}

// names returns the name that an object gets.
func (f Flaw) names(name string) string {
	if f == NoFenceNamed {
		return fenced.ReplaceAllString(name, "/1-$1")
	}
	return name
}

// replaces reports whether an object is created over the one that has its name.
func (f Flaw) replaces(name string) bool { return f == NoFenceNamed && fenced.MatchString(name) }

// downloads returns the text of a result.
func (f Flaw) downloads(lines []map[string]any, requests []line) []byte {
	var text bytes.Buffer
	for i, l := range lines {
		if f == ByPlace && l != nil && i < len(requests) {
			l["key"] = requests[i].Key
		}
		_, _ = text.Write(append(encoded(l), '\n')) // a buffer returns no error
	}
	return text.Bytes()
}
