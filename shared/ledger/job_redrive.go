package ledger

import (
	"slices"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// A Redriving says that a job has requests of another one, which has ended [J14], by whose decision, and why.
type Redriving struct {
	Of       operation.Key // the job that has ended
	Outcomes []job.Outcome // of the requests
	Decision
}

// Problems returns what is wrong with the outcomes.
func (r Redriving) Problems() (problems operation.Problems) {
	for _, outcome := range r.Outcomes {
		problems.When(!slices.Contains(job.NotDone(), outcome), "outcomes", "it must be %s, not %s",
			diag.OneOf(job.NotDone()), diag.Quote(string(outcome)))
	}
	return problems
}

// paths returns the path of the job that has ended, if there is one.
func (r Redriving) paths() []Path {
	if r.Of == "" {
		return nil
	}
	return []Path{JobPath(r.Of)}
}

// write returns the write of that job, of which docs has the document, with the job that redrives it.
func (r Redriving) write(docs []Document, by operation.Key, now time.Time) ([]Write, error) {
	switch {
	case r.Of == "":
		return nil, nil
	case !docs[0].Exists():
		return nil, ErrNoJob
	case r.Why == "":
		return nil, ErrNoReason
	}
	before, err := readJob(docs[0])
	if err != nil {
		return nil, err
	}
	if err := before.Redriven(job.Redrive{Job: by, Outcomes: r.Outcomes, Decided: *r.at(now)}); err != nil {
		return nil, err
	}
	return []Write{before.Write()}, nil
}
