package job

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// A Redrive is a job that took requests of another one, which had ended.
type Redrive struct {
	Job operation.Key `json:"job" firestore:"job"`
	// Outcomes are those of the requests that it took.
	Outcomes []Outcome `json:"outcomes" firestore:"outcomes"`
	operation.Decided
}

// ErrNoRedrive is wrapped by the error that says why a job cannot be redriven.
var ErrNoRedrive = errors.New("it cannot be redriven")

// NotDone returns the outcomes other than done.
func NotDone() []Outcome {
	return []Outcome{OutcomeFailed, OutcomeRefused, OutcomeInvalid, OutcomeTruncated}
}

// RedriveID returns the id that a redrive of the job has by default: ID-2, and ID-3 for a redrive of that.
func (j Job) RedriveID() string {
	id, of := j.Key.ID(), j.Redrives.ID()
	if at := strings.LastIndexByte(id, '-'); at > 0 && of != "" {
		base := id[:at]
		n, err := strconv.Atoi(id[at+1:])
		if err == nil && (n == 2 && of == base || of == base+"-"+strconv.Itoa(n-1)) {
			return base + "-" + strconv.Itoa(n+1)
		}
	}
	return id + "-2"
}

// Redriven records that a job takes the requests with these outcomes. A request of a job is in one redrive [J14]: the
// error, which wraps ErrNoRedrive, says which other job has one of them, or what else is in the way. A redrive that is
// recorded already is replaced: its job was forgotten.
func (j *Job) Redriven(by Redrive) error {
	others := slices.DeleteFunc(slices.Clone(j.RedrivenBy), func(r Redrive) bool { return r.Job == by.Job })
	taken := int64(0)
	for _, outcome := range by.Outcomes {
		taken += j.Counts.Of(outcome)
		for _, other := range others {
			if slices.Contains(other.Outcomes, outcome) {
				return fmt.Errorf("%w: its requests that are %s are in %s; redrive that one, or name other outcomes",
					ErrNoRedrive, outcome, other.Job)
			}
		}
	}
	switch {
	case j.Phase != Ended:
		return fmt.Errorf("%w before it has ended: it is %s", ErrNoRedrive, j.Phase)
	case taken == 0:
		return fmt.Errorf("%w: it has no request that is %s", ErrNoRedrive, diag.OneOf(by.Outcomes))
	}
	j.RedrivenBy = append(others, by)
	return nil
}
