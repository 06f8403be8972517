package job

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// Limits are the options that may change while a job runs; nil: it stays as it is.
type Limits struct {
	MaxBatches  *int       `json:"maxBatches"`
	MaxFailures *Tolerance `json:"maxFailures"`
	StopAfter   *Tolerance `json:"stopAfter"`
	Deadline    *time.Time `json:"deadline"` // the zero time: none
	MaxCost     *float64   `json:"maxCost"`
	Priority    *int       `json:"priority"`
	// CancelAfterSeconds is of batches that are started from now on; 0: as long as Gemini lets them.
	CancelAfterSeconds *int64 `json:"cancelAfterSeconds"`
}

// On returns the options with these limits.
func (l Limits) On(o Options) Options {
	set(&o.MaxBatches, l.MaxBatches)
	set(&o.MaxFailures, l.MaxFailures)
	set(&o.StopAfter, l.StopAfter)
	set(&o.Deadline, l.Deadline)
	set(&o.MaxCost, l.MaxCost)
	set(&o.Priority, l.Priority)
	set(&o.CancelAfterSeconds, l.CancelAfterSeconds)
	return o
}

func set[T any](option, to *T) {
	if to != nil {
		*option = *to
	}
}

// Problems returns what is wrong with limits that are set now; that there is none, too.
func (l Limits) Problems(now time.Time) operation.Problems {
	problems := l.On(Options{Model: "any"}.WithDefaults()).ProblemsAt(now)
	problems.When(l == Limits{}, "limits", "there is none to change: give maxBatches, maxFailures, stopAfter, deadline, "+
		"maxCost, priority or cancelAfterSeconds")
	return problems
}

// A Change is what was changed of a job's options while it ran, by whom and why.
type Change struct {
	What string `json:"what" firestore:"what"` // such as "maxBatches 20 → 5"
	operation.Decided
}

// mostChanges bounds the changes that a job keeps: the last ones.
const mostChanges = 20

// Change sets limits of a job, and records that. It reports whether that changed anything.
func (j *Job) Change(l Limits, by operation.Decided) bool {
	options := l.On(j.Options)
	var what []string
	for _, d := range j.Options.differences(options) {
		what = append(what, d.name+" "+cmp.Or(d.a, "none")+" → "+cmp.Or(d.b, "none"))
	}
	if len(what) == 0 {
		return false
	}
	if j.Submitted == nil {
		submitted := j.Options
		j.Submitted = &submitted
	}
	j.Options = options
	j.Changes = append(slices.Clone(j.Changes), Change{What: strings.Join(what, ", "), Decided: by})
	j.Changes = j.Changes[max(0, len(j.Changes)-mostChanges):]
	return true
}

// AsSubmitted are the options that the job was submitted with [J1].
func (j Job) AsSubmitted() Options {
	if j.Submitted != nil {
		return *j.Submitted
	}
	return j.Options
}
