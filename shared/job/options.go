package job

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Tolerance is a number of requests, as "5", or a share of a job's, as "1%". Empty is zero.
type Tolerance string

// Exceeded reports whether count of total requests are more than the tolerance.
func (t Tolerance) Exceeded(count, total int64) bool {
	if share, isShare := strings.CutSuffix(string(t), "%"); isShare {
		percent, _ := strconv.ParseFloat(share, 64)
		return float64(count)*100 > percent*float64(total)
	}
	limit, _ := strconv.ParseInt(string(t.orZero()), 10, 64)
	return count > limit
}

// orZero is the tolerance as people write it.
func (t Tolerance) orZero() Tolerance { return cmp.Or(t, "0") }

func (t Tolerance) valid() bool {
	if share, isShare := strings.CutSuffix(string(t), "%"); isShare {
		percent, err := strconv.ParseFloat(share, 64)
		return err == nil && percent >= 0 && percent <= 100
	}
	limit, err := strconv.ParseInt(string(t.orZero()), 10, 64)
	return err == nil && limit >= 0
}

// mostSeconds bounds for how long a batch may run before it is cancelled: 30 days.
const mostSeconds = 30 * 24 * 60 * 60

// WholeSeconds returns the seconds of a duration, rounded away from zero: what is less than a second is not 0, which
// means never or none.
func WholeSeconds(d time.Duration) int64 {
	seconds := int64(d / time.Second)
	switch rest := d % time.Second; {
	case rest > 0:
		seconds++
	case rest < 0:
		seconds--
	}
	return seconds
}

// CancelAfter is for how long a batch may run before it is cancelled; 0: for as long as Gemini lets it.
func (o Options) CancelAfter() time.Duration {
	return time.Duration(o.CancelAfterSeconds) * time.Second
}

// Problems returns what is wrong with options that WithDefaults returned.
func (o Options) Problems() operation.Problems {
	var problems operation.Problems
	garbled := strings.ContainsFunc(o.Model, func(r rune) bool { return r <= ' ' || r == '?' || r == '#' })
	problems.When(o.Model == "" || garbled, "model",
		"it must be a model's name, such as gemini-3.5-flash, not %q", o.Model)
	between := func(field string, value, low, high int64) {
		problems.When(value < low || value > high, field, "it must be from %d to %d, not %d", low, high, value)
	}
	between("maxRequestsPerBatch", o.MaxRequestsPerBatch, 1, 1_000_000)
	between("maxBytesPerBatch", o.MaxBytesPerBatch, 1, MaxBytesPerBatch)
	between("maxAttempts", int64(o.MaxAttempts), 1, MostAttempts)
	between("maxBatches", int64(o.MaxBatches), 1, MostBatches)
	if o.CancelAfterSeconds != 0 {
		between("cancelAfterSeconds", o.CancelAfterSeconds, 60, mostSeconds)
	}
	for _, outcome := range o.RetryOn {
		problems.When(outcome != "invalid" && outcome != "truncated", "retryOn",
			"it must be invalid or truncated, not %q; what failed is tried again in any case", outcome)
	}
	problems.When(o.Embed && o.Validate != "", "validate", "an embedding is not checked; take it out")
	problems.When(!slices.Contains([]string{"", "json", "schema"}, o.Validate), "validate",
		"it must be json or schema, not %q", o.Validate)
	problems.When(!o.MaxFailures.valid(), "maxFailures",
		"it must be a number of requests or a share such as 1%%, not %q", string(o.MaxFailures))
	problems.When(!o.StopAfter.valid(), "stopAfter",
		"it must be a number of requests or a share such as 1%%, not %q", string(o.StopAfter))
	between("priority", int64(o.Priority), -MostPriority, MostPriority)
	if o.Pilot != 0 {
		between("pilot", o.Pilot, 1, o.MaxRequestsPerBatch)
	}
	problems.When(!(o.MaxCost >= 0 && o.MaxCost <= mostDollars), "maxCost", // NaN is neither
		"it must be an amount of dollars from 0 to %d, not %v", int64(mostDollars), o.MaxCost)
	problems.When(!o.PilotFailures.valid(), "pilotFailures",
		"it must be a number of requests or a share such as 5%%, not %q", string(o.PilotFailures))
	problems.When(o.PilotFailures.valid() && o.PilotFailures != "" && o.Pilot == 0, "pilotFailures",
		"it is of a pilot, and there is none; say of how many requests one is")
	return problems
}

// Differences names the options in which other differs; both have their defaults. The deadline is not compared: that of
// a submitter who was cut off and says 8h again is another one [J1].
func (o Options) Differences(other Options) []string {
	var names []string
	other.Deadline = o.Deadline
	for _, d := range o.differences(other) {
		names = append(names, d.name)
	}
	return names
}

// Same reports whether all options are the same; both have their defaults.
func (o Options) Same(other Options) bool { return len(o.differences(other)) == 0 }

// A difference is an option that has two values.
type difference struct{ name, a, b string }

func (o Options) differences(other Options) []difference {
	all := []difference{
		{"model", o.Model, other.Model},
		{"maxRequestsPerBatch", fmt.Sprint(o.MaxRequestsPerBatch), fmt.Sprint(other.MaxRequestsPerBatch)},
		{"maxBytesPerBatch", fmt.Sprint(o.MaxBytesPerBatch), fmt.Sprint(other.MaxBytesPerBatch)},
		{"maxAttempts", fmt.Sprint(o.MaxAttempts), fmt.Sprint(other.MaxAttempts)},
		{"maxBatches", fmt.Sprint(o.MaxBatches), fmt.Sprint(other.MaxBatches)},
		{"retryOn", sorted(o.RetryOn), sorted(other.RetryOn)},
		{"validate", o.Validate, other.Validate},
		{"maxFailures", string(o.MaxFailures.orZero()), string(other.MaxFailures.orZero())},
		{"stopAfter", string(o.StopAfter), string(other.StopAfter)},
		{"embed", strconv.FormatBool(o.Embed), strconv.FormatBool(other.Embed)},
		{"cancelAfterSeconds", strconv.FormatInt(o.CancelAfterSeconds, 10), strconv.FormatInt(other.CancelAfterSeconds, 10)},
		{"deadline", instant(o.Deadline), instant(other.Deadline)},
		{"priority", fmt.Sprint(o.Priority), fmt.Sprint(other.Priority)},
		{"pilot", fmt.Sprint(o.Pilot), fmt.Sprint(other.Pilot)},
		{"pilotFailures", string(o.PilotFailures), string(other.PilotFailures)},
		{"maxCost", fmt.Sprint(o.MaxCost), fmt.Sprint(other.MaxCost)},
	}
	return slices.DeleteFunc(all, func(d difference) bool { return d.a == d.b })
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func sorted(words []string) string { return strings.Join(slices.Sorted(slices.Values(words)), " ") }

// Retries reports whether a request with this outcome is sent again, while it has an attempt left.
func (o Options) Retries(outcome Outcome) bool {
	return outcome == OutcomeFailed || slices.Contains(o.RetryOn, string(outcome))
}
