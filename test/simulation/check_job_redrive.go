package simulation

import (
	"bytes"
	"errors"
	"reflect"
	"slices"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// redrives checks a commit that makes a redrive: it names that in the job which is redriven, and the other way round
// [J14].
func (c *checker) redrives(was, is job.Job, known bool, writes []ledger.Write) {
	if !known && is.Redrives != "" {
		of, _ := jobIn(writes, is.Redrives)
		c.must(names(of, is.Key), "%s redrives %s, and is not named there in one commit [J14]", is.Key, is.Redrives)
		c.picked(is, of)
	}
	for _, r := range is.RedrivenBy {
		by, made := jobIn(writes, r.Job)
		c.must(names(was, r.Job) || made && by.Redrives == is.Key,
			"%s is redriven by %s, which is not made in one commit [J14]", is.Key, r.Job)
	}
	for _, r := range was.RedrivenBy {
		c.must(names(is, r.Job), "%s no longer says that %s redrives it [J14]", is.Key, r.Job)
	}
	if was.Phase == job.Ended {
		was.RedrivenBy, was.Version, was.ExpireAt = is.RedrivenBy, is.Version, is.ExpireAt
		c.must(reflect.DeepEqual(was, is), "%s has ended, and changes [J14]", is.Key)
	}
}

// jobIn returns a job's plan as a commit writes it.
func jobIn(writes []ledger.Write, key operation.Key) (j job.Job, found bool) {
	for _, w := range writes {
		if j, found = w.Data.(job.Job); found && j.Key == key {
			return j, true
		}
	}
	return job.Job{}, false
}

// names reports whether a job names another one that redrives it.
func names(j job.Job, by operation.Key) bool {
	return slices.ContainsFunc(j.RedrivenBy, func(r job.Redrive) bool { return r.Job == by })
}

// picked checks the input of a redrive: requests that have failed in the job that it redrives, each with one of the
// outcomes that were asked for, and in no other redrive of that job.
func (c *checker) picked(is, of job.Job) {
	s := c.w.submissionOf(is.Key)
	in := input{Input: is.Input, lines: c.w.objects.linesOf(is.Input.Object)}
	s.inputs = append(s.inputs, in)
	var outcomes []job.Outcome
	for _, r := range of.RedrivenBy {
		if r.Job == is.Key {
			outcomes = r.Outcomes
		}
	}
	failed := c.w.objects.linesOf(of.Output.Failed.Name)
	for _, l := range in.lines {
		c.must(slices.ContainsFunc(failed, func(f line) bool {
			return f.Key == l.Key && bytes.Equal(f.Request, l.Request) && slices.Contains(outcomes, f.Outcome)
		}), "%s has the request %s, which is none of the %v of %s [J14]", is.Key, l.Key, outcomes, of.Key)
		for _, other := range c.w.submissions {
			if j, known := c.w.jobOf(other.key); known && j.Redrives == of.Key {
				c.must(!other.inputOf(j).has(l.Key), "%s is in %s and in %s [J14]", l.Key, is.Key, other.key)
			}
		}
	}
}

// has reports whether an input has a request with a key.
func (i input) has(key string) bool {
	return slices.ContainsFunc(i.lines, func(l line) bool { return l.Key == key })
}

// redriven checks what an operator who redrives a job is told. It reports whether that decides it.
func (c *checker) redriven(s *submission, err error) bool {
	j, known := c.w.jobOf(s.key)
	of, _ := c.w.jobOf(s.of.key)
	met := c.w.gate.met
	switch {
	case err == nil:
		c.must(known && j.Redrives == of.Key && names(of, s.key), "%s is told to redrive %s, and does not [J14]", s.key,
			s.of.key)
		met[metRedriven]++
	case errors.Is(err, job.ErrNoRedrive) && of.Phase == job.Ended:
		met[metNotRedriven]++
	default:
		return false
	}
	return true
}

// merged checks the results of a job merged with those of its redrives: each key has one line, that of the last job
// which has it.
func (c *checker) merged(s *submission, lines []line, err error) {
	c.must(err == nil, "the results of %s cannot be merged: %v [J14]", s.key, err)
	j, _ := c.w.jobOf(s.key)
	c.must(len(lines) == len(s.inputOf(j).lines), "%s has %d merged results for %d requests [J14]", s.key, len(lines),
		len(s.inputOf(j).lines))
	for _, l := range s.inputOf(j).lines {
		last := c.lastOf(s, l.Key)
		i := slices.IndexFunc(lines, func(m line) bool { return m.Key == l.Key })
		c.must(i >= 0 && lines[max(i, 0)].Batch == last.Batch && lines[max(i, 0)].Outcome == last.Outcome,
			"%s: the merged result of %s is not %s by %s [J14]", s.key, l.Key, last.Outcome, last.Batch)
	}
	c.w.gate.met[metMerged]++
}

// lastOf returns the result of a request in the last job that has it.
func (c *checker) lastOf(s *submission, key string) line {
	for _, by := range c.w.submissions {
		if j, known := c.w.jobOf(by.key); known && by.of == s && by.inputOf(j).has(key) {
			return c.lastOf(by, key)
		}
	}
	j, _ := c.w.jobOf(s.key)
	for _, l := range c.w.objects.linesOf(j.Output.Results.Name) {
		if l.Key == key {
			return l
		}
	}
	return line{}
}
