package job_test

import (
	"testing"

	"github.com/opledger/opledger/shared/job"
)

// planned is a job of a million tokens in a thousand requests of a byte each, with a part of each size, in requests.
func planned(sizes ...int64) (job.Job, []job.Part) {
	j, _ := waiting(job.Options{}, 0, 0)
	var open []job.Part
	j.Waiting, j.Parts = nil, len(sizes)
	j.Input = job.Input{Requests: 1000, Bytes: 1000, Tokens: 1_000_000}
	for i, n := range sizes {
		open = append(open, job.Part{
			Number: i + 1, Round: 1, State: job.Planned, Requests: n, Bytes: n, WaitingSince: midnight,
			Sources: []job.Source{{Object: "input", Length: n, Requests: n}},
		})
	}
	return j, open
}

func TestTokens(t *testing.T) {
	for _, test := range []struct{ bytes, tokens, of, want int64 }{
		{1000, 500, 100, 50}, {1000, 500, 1, 1}, {1000, 0, 100, 25}, {0, 0, 100, 25}, {100, 1 << 62, 7, 7000},
	} {
		j := job.Job{Input: job.Input{Bytes: test.bytes, Tokens: test.tokens}}
		if got := j.Tokens(test.of); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

// Batches are cut to a tenth of the quota, and to what Gemini took last where that is less, but the whole input to no
// more than 2,000 for it.
func TestWithin(t *testing.T) {
	for _, test := range []struct {
		tokens, quota, perBatch, want int64 // bytes of a batch
	}{
		{1_000_000, 0, 0, job.DefaultMaxBytesPerBatch}, {1_000_000, 100_000, 0, 10}, {1_000_000, 100_000, 5000, 5},
		{1_000_000, 100_000, 50_000, 10}, {1_000_000, 0, 7000, 7}, {1_000_000, 1, 0, 1},
		{1000, 2, 0, 1}, {1000, 5, 1, 1}, {1_000, 1 << 50, 0, job.DefaultMaxBytesPerBatch},
	} {
		j := job.Job{Input: job.Input{Bytes: 1000, Tokens: test.tokens}}
		o := j.Within(job.Allowed{Quota: test.quota, PerBatch: test.perBatch})
		if o.MaxBytesPerBatch != test.want {
			t.Errorf("%+v: %d bytes", test, o.MaxBytesPerBatch)
		}
	}
	j := job.Job{Input: job.Input{Bytes: 1_000_000, Tokens: 40_000_000}}
	if o := j.Within(job.Allowed{Quota: 100_000}); o.MaxBytesPerBatch != 500 {
		t.Errorf("%d bytes", o.MaxBytesPerBatch)
	}
}

func quota(tokens, taken int64) job.Room {
	return job.Room{Batches: 9, Taken: taken, Allowed: job.Allowed{Quota: tokens}}
}

func perBatch(tokens int64) job.Room {
	return job.Room{Batches: 9, Allowed: job.Allowed{PerBatch: tokens}}
}

// Parts start while the tokens last, the oldest first; one that is too large is split unsent, and one request takes
// all.
func TestNextReserves(t *testing.T) {
	type want struct {
		starts  int
		tokens  int64
		lacks   job.Wait
		divided bool
	}
	for name, test := range map[string]struct {
		sizes []int64
		room  job.Room
		want  want
	}{
		"no quota":         {[]int64{10, 20}, quota(0, 0), want{2, 30_000, "", false}},
		"it fits":          {[]int64{10, 20}, quota(30_000, 0), want{2, 30_000, "", false}},
		"not the other":    {[]int64{10, 20}, quota(29_999, 0), want{1, 10_000, job.WaitsForTokens, false}},
		"taken":            {[]int64{10}, quota(10_000, 1), want{0, 0, job.WaitsForTokens, false}},
		"too large":        {[]int64{20}, quota(10_000, 1), want{1, 0, "", true}},
		"no free batch":    {[]int64{20}, job.Room{Allowed: job.Allowed{Quota: 10}}, want{0, 0, job.WaitsForBatch, false}},
		"one request":      {[]int64{1}, quota(10, 0), want{1, 10, "", false}},
		"refused as large": {[]int64{101}, perBatch(100_000), want{1, 0, "", true}},
		"a hundred":        {[]int64{100}, perBatch(10), want{1, 100_000, "", false}},
	} {
		j, open := planned(test.sizes...)
		step := job.Next(midnight, j, open, false, test.room)
		got := want{starts: len(step.Start), lacks: step.Wants.For}
		for _, p := range step.Running {
			got.tokens += p.Tokens
		}
		for _, p := range step.Parts {
			got.divided = got.divided || p.TooLarge
		}
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// The pieces of a part that was too large are parts of the same round, and count as no refusal [J5, J10].
func TestNextDivides(t *testing.T) {
	for _, test := range []struct {
		ends   bool
		pieces []job.Source
		state  job.State
	}{
		{false, []job.Source{{Length: 5, Requests: 5}, {Offset: 5, Length: 5, Requests: 5}}, job.Consumed},
		{true, []job.Source{{Length: 5, Requests: 5}, {Offset: 5, Length: 5, Requests: 5}}, job.Dropped},
		{false, []job.Source{{Length: 10, Requests: 10}}, job.Dropped},
	} {
		j, open := planned(10)
		open[0].State, open[0].TooLarge, open[0].Pieces, open[0].Depth, open[0].Root = job.Refused, true, test.pieces, 2, 7
		if test.ends {
			j.Stopped = "a test"
		}
		step := job.Next(midnight, j, open, false, job.Room{})
		last := len(step.Parts) - 1
		if p := step.Parts[last]; p.State != test.state || len(step.Job.Refusals) > 0 {
			t.Errorf("%+v: %s, refusals %v", test, p.State, step.Job.Refusals)
		}
		for _, p := range step.Parts[:last] {
			if p.Round != 1 || p.Depth != 2 || p.Root != 7 || p.TooLarge || p.Requests != 5 || p.State != job.Planned {
				t.Errorf("a piece is %+v", p)
			}
		}
	}
}

func TestPiecesOf(t *testing.T) {
	for _, test := range []struct{ quota, perBatch, want int64 }{
		{100_000, 0, 10}, {1_000_000, 0, 10}, {0, 500_000, 2}, {0, 300_000, 4}, {0, 10, 10}, {0, 0, 10},
	} {
		j, open := planned(1000)
		if n := j.PiecesOf(open[0], job.Allowed{Quota: test.quota, PerBatch: test.perBatch}, 10); n != test.want {
			t.Errorf("%+v: %d", test, n)
		}
	}
}

func TestQuotas(t *testing.T) {
	var q job.Quotas
	if err := q.UnmarshalText([]byte(" b=2\nmodels/a=1 ")); err != nil || q.String() != "a=1 b=2" {
		t.Errorf("%v, %v", q, err)
	}
	for _, text := range []string{"a", "a=", "a=0", "a=-1", "a=3M", "=1", "a=1 models/a=1"} {
		if err := q.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
