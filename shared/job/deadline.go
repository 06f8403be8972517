package job

import (
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// ParseDeadline returns the instant that a text names: a time of day, such as 07:00, which is the next such time where
// now is, a time with its date as in RFC 3339, or a duration from now, such as 8h. An empty text is no deadline.
func ParseDeadline(now time.Time, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if after, err := time.ParseDuration(text); err == nil {
		return operation.Instant(now.Add(after)), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return operation.Instant(at), nil
	}
	clock, err := time.Parse("15:04", text)
	if err != nil {
		return time.Time{}, fmt.Errorf("it must be a time such as 07:00 or 2026-01-22T07:00:00Z, or a duration such as 8h, "+
			"not %s", diag.Quote(text))
	}
	at := func(days int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+days, clock.Hour(), clock.Minute(), 0, 0, now.Location())
	}
	if today := at(0); today.After(now) {
		return operation.Instant(today), nil
	}
	return operation.Instant(at(1)), nil
}

// ProblemsAt returns the Problems of options that are given now.
func (o Options) ProblemsAt(now time.Time) operation.Problems {
	problems := o.Problems()
	past := !o.Deadline.IsZero() && !now.Before(o.Deadline)
	problems.When(past, "deadline", "it must be in the future, not %s", instant(o.Deadline))
	return problems
}

// Late reports whether the deadline of the job is past: it starts nothing any more [J12].
func (j Job) Late(now time.Time) bool {
	return !j.DeadlineReached.IsZero() || !j.Options.Deadline.IsZero() && !now.Before(j.Options.Deadline)
}
