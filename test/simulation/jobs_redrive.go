package simulation

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A redriver is an operator who wants requests of a job that has ended in another one.
type redriver struct {
	suffix   operation.Key // of the other's key
	outcomes []job.Outcome // of the requests
}

// redrivers are what is drawn from: none; one; two who want the same job; two who want the same requests in two jobs,
// all of them or some; and two who want different ones.
func redrivers() [][]redriver {
	all, failed := redriver{"-2", job.NotDone()}, redriver{"-2", []job.Outcome{job.OutcomeFailed}}
	return [][]redriver{
		nil, nil, nil, {all}, {all, all}, {all, {"-x", all.outcomes}}, {all, {"-x", []job.Outcome{job.OutcomeTruncated}}},
		{failed, {"-x", []job.Outcome{job.OutcomeRefused, job.OutcomeTruncated}}},
	}
}

// addRedrives draws the redrives of a job, and perhaps one of the first of them.
func (w *World) addRedrives(of *submission) {
	var first *submission
	for i, r := range drawn(w, redrivers()) {
		s := w.submissionOf(of.key + r.suffix)
		if s == nil {
			s = w.newRedrive(of, of.key+r.suffix)
		}
		if first == nil {
			first = s
		}
		w.wantRedrive(s, r.outcomes, i)
	}
	if first != nil && w.gate.choose(Plan, 3) == 1 {
		w.wantRedrive(w.newRedrive(first, of.key+"-3"), job.NotDone(), 0)
	}
}

// newRedrive adds a redrive of a job, which no operator has asked for yet.
func (w *World) newRedrive(of *submission, key operation.Key) *submission {
	s := newSubmission(key)
	s.of, s.output = of, of.output
	s.options = job.Options{
		Model: simulatedModel, MaxRequestsPerBatch: max(3, of.options.MaxRequestsPerBatch),
		MaxAttempts: drawn(w, []int{1, 2}), MaxFailures: "100%",
	}
	w.submissions = append(w.submissions, s)
	return s
}

// wantRedrive has an operator ask for a redrive.
func (w *World) wantRedrive(s *submission, outcomes []job.Outcome, number int) {
	s.callers++
	after := drawn(w, []time.Duration{7 * time.Minute, 21 * time.Minute, 38 * time.Minute})
	w.at(after+time.Duration(number)*time.Second, func() {
		w.redrive(s, outcomes, fmt.Sprintf("operator %d redrives %s as %s", number+1, s.of.key, s.key))
	})
}

// redrive is an operator who redrives a job, and tries again while that has not ended.
func (w *World) redrive(s *submission, outcomes []job.Outcome, what string) {
	defer w.gate.event(what+": no more", func() { s.callers-- })
	const runs, patience = 10, 5 * time.Minute
	for range runs {
		w.gate.event(what, nil)
		err := w.serve(newProcess(what), "redrive", patience, func(ctx context.Context, a *actor) error {
			_, err := files.Redrive(ctx, a.ledger(), bucket{a}, ledger.JobRequest{
				Key: s.key, Submission: operation.Submission{JobKind: plainKind}, Options: s.options,
				Redrive: ledger.Redriving{
					Of: s.of.key, Outcomes: outcomes, Decision: ledger.Decision{By: "operator", Why: "once more"},
				},
			})
			return err
		})
		over := false
		w.gate.event(what+" has an answer", func() { over = w.check.redriven(s, err) })
		if over {
			return
		}
		time.Sleep(11*time.Minute + 37*time.Second)
	}
}

// readMerged reads the merged results of each job that was redriven, once all have ended.
func (w *World) readMerged() {
	for _, s := range w.submissions {
		redriven := false
		w.gate.event("are there merged results of "+string(s.key)+"?", func() {
			j, _ := w.jobOf(s.key)
			redriven = s.of == nil && len(j.RedrivenBy) > 0
		})
		if !redriven {
			continue
		}
		var merged bytes.Buffer
		err := w.serve(newProcess("reader"), "merge", time.Hour, func(ctx context.Context, a *actor) error {
			_, err := files.Copy(ctx, a.ledger(), bucket{a}, s.key, files.Merged, &merged)
			return err
		})
		w.gate.event("the merged results of "+string(s.key), func() { w.check.merged(s, parsed(merged.Bytes()), err) })
	}
}
