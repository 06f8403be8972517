package job_test

import (
	"testing"

	"github.com/opledger/opledger/shared/job"
)

func TestOptionsProblems(t *testing.T) {
	good := job.Options{Model: "gemini-3.5-flash"}.WithDefaults()
	if problems := good.Problems(); problems != nil {
		t.Errorf("%v", problems)
	}
	for field, spoil := range map[string]func(*job.Options){
		"model":               func(o *job.Options) { o.Model = "" },
		"maxRequestsPerBatch": func(o *job.Options) { o.MaxRequestsPerBatch = -1 },
		"maxBytesPerBatch":    func(o *job.Options) { o.MaxBytesPerBatch = 3 << 30 },
		"maxAttempts":         func(o *job.Options) { o.MaxAttempts = 11 },
		"maxBatches":          func(o *job.Options) { o.MaxBatches = 101 },
		"priority":            func(o *job.Options) { o.Priority = -101 },
		"retryOn":             func(o *job.Options) { o.RetryOn = []string{"refused"} },
		"validate":            func(o *job.Options) { o.Validate = "xml" },
		"maxFailures":         func(o *job.Options) { o.MaxFailures = "-1" },
		"stopAfter":           func(o *job.Options) { o.StopAfter = "101%" },
		"pilot":               func(o *job.Options) { o.Pilot = -1 },
		"maxCost":             func(o *job.Options) { o.MaxCost = -1 },
		"pilotFailures":       func(o *job.Options) { o.PilotFailures = "5%" },
	} {
		bad := good
		spoil(&bad)
		if problems := bad.Problems(); len(problems) != 1 || problems[0].Field != field {
			t.Errorf("%s: %v", field, problems)
		}
		if names := good.Differences(bad); len(names) != 1 || names[0] != field {
			t.Errorf("%s differs: %v", field, names)
		}
	}
}

func TestOptionsTaken(t *testing.T) {
	for _, o := range []job.Options{
		{Model: "models/gemini-3.5-flash"},
		{Model: "m", MaxRequestsPerBatch: 1, MaxBytesPerBatch: 1, MaxAttempts: 1, MaxBatches: 1},
		{
			Model: "m", MaxRequestsPerBatch: 1_000_000, MaxBytesPerBatch: job.MaxBytesPerBatch, MaxAttempts: job.MostAttempts,
			MaxBatches: job.MostBatches, RetryOn: []string{"invalid", "truncated"}, Validate: "schema",
		},
		{Model: "m", Validate: "json", MaxFailures: "0", StopAfter: "7"},
		{Model: "m", MaxFailures: "0%", StopAfter: "100%"},
		{Model: "m", MaxRequestsPerBatch: 7, Pilot: 7}, {Model: "m", Pilot: 1, PilotFailures: "0"},
	} {
		if problems := o.WithDefaults().Problems(); problems != nil {
			t.Errorf("%+v: %v", o, problems)
		}
	}
}

func TestOptionsRefused(t *testing.T) {
	for _, model := range []string{"a b", "a?b", "a#b", "a\n"} {
		o := job.Options{Model: model}.WithDefaults()
		if problems := o.Problems(); len(problems) != 1 || problems[0].Field != "model" {
			t.Errorf("%q: %v", model, problems)
		}
	}
	for _, tolerance := range []job.Tolerance{"x", "x%", "%", "-1", "-1%", "100.1%", "1.5", "1 %"} {
		o := job.Options{Model: "m", MaxFailures: tolerance, StopAfter: tolerance, Pilot: 1, PilotFailures: tolerance}
		if problems := o.WithDefaults().Problems(); len(problems) != 3 {
			t.Errorf("%q: %v", tolerance, problems)
		}
	}
}

// A pilot has a tolerance of its own, and no more requests than a batch: it is one.
func TestOptionsPilot(t *testing.T) {
	o := job.Options{Model: "m", MaxRequestsPerBatch: 7, Pilot: 8}.WithDefaults()
	if problems := o.Problems(); len(problems) != 1 || problems[0].Field != "pilot" || o.PilotFailures != "5%" {
		t.Errorf("%v, %+v", problems, o)
	}
}

// The order in which outcomes are listed, and a tolerance of zero in words, make no other job [J1].
func TestOptionsAlike(t *testing.T) {
	a := job.Options{RetryOn: []string{"invalid", "truncated"}}
	b := job.Options{RetryOn: []string{"truncated", "invalid"}, MaxFailures: "0"}
	if names := a.Differences(b); names != nil {
		t.Errorf("they differ in %v", names)
	}
}

func TestToleranceExceeded(t *testing.T) {
	for _, test := range []struct {
		tolerance    job.Tolerance
		count, total int64
		want         bool
	}{
		{"", 0, 10, false}, {"", 1, 10, true}, {"5", 5, 10, false}, {"5", 6, 10, true},
		{"0%", 0, 10, false}, {"0%", 1, 10, true}, {"0.5%", 1, 200, false}, {"0.5%", 2, 200, true}, {"100%", 10, 10, false},
	} {
		if got := test.tolerance.Exceeded(test.count, test.total); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}
