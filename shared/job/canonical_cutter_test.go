package job_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opledger/opledger/shared/job"
)

// cut returns the ranges of lines of these sizes.
func cut(o job.Options, from int64, sizes ...int64) (ranges []job.Source) {
	c := job.NewCutter(o, "input", from)
	for _, size := range sizes {
		if finished, ok := c.Add(size); ok {
			ranges = append(ranges, finished)
		}
	}
	if rest, ok := c.Rest(); ok {
		ranges = append(ranges, rest)
	}
	return ranges
}

func TestCutter(t *testing.T) {
	t.Parallel()
	source := func(offset, length, requests int64) job.Source {
		return job.Source{Object: "input", Offset: offset, Length: length, Requests: requests}
	}
	pilot := job.Options{MaxRequestsPerBatch: 3, MaxBytesPerBatch: 10, Pilot: 2}
	two, ten := job.Options{MaxRequestsPerBatch: 2}, job.Options{MaxBytesPerBatch: 10}
	for _, test := range []struct {
		options job.Options
		sizes   []int64
		want    []job.Source
	}{
		{two, nil, nil},
		{two, []int64{5}, []job.Source{source(0, 5, 1)}},
		{two, []int64{5, 6}, []job.Source{source(0, 11, 2)}},
		{two, []int64{5, 6, 7}, []job.Source{source(0, 11, 2), source(11, 7, 1)}},
		{ten, []int64{4, 6, 1}, []job.Source{source(0, 10, 2), source(10, 1, 1)}},
		{ten, []int64{4, 7}, []job.Source{source(0, 4, 1), source(4, 7, 1)}},
		{ten, []int64{1, 30, 1, 1}, []job.Source{source(0, 1, 1), source(1, 30, 1), source(31, 2, 2)}},
		{pilot, []int64{1, 1, 1, 1, 1, 1}, []job.Source{source(0, 2, 2), source(2, 3, 3), source(5, 1, 1)}},
		{pilot, []int64{8, 8, 1}, []job.Source{source(0, 8, 1), source(8, 9, 2)}},
		{ten, []int64{30, 30}, []job.Source{source(0, 30, 1), source(30, 30, 1)}},
	} {
		if got := cut(test.options, 0, test.sizes...); !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.sizes, got, test.want)
		}
	}
	many := slices.Repeat([]int64{1}, job.DefaultMaxRequestsPerBatch+1)
	if got := cut(job.Options{}, 0, many...); len(got) != 2 || got[0].Requests != job.DefaultMaxRequestsPerBatch {
		t.Errorf("by default: %v", got)
	}
}

// A cutter that begins where a range has ended goes on as the first would have.
func TestCutterGoesOn(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		o := job.Options{MaxRequestsPerBatch: 1 + random.Int64N(5), MaxBytesPerBatch: 1 + random.Int64N(40)}
		o.Pilot = random.Int64N(o.MaxRequestsPerBatch + 1)
		sizes := make([]int64, random.IntN(30))
		for i := range sizes {
			sizes[i] = 1 + random.Int64N(20)
		}
		all := cut(o, 0, sizes...)
		var offset, lines int64
		for i, r := range all {
			if r.Offset != offset || r.Requests > o.MaxRequestsPerBatch || r.Length > o.MaxBytesPerBatch && r.Requests > 1 {
				t.Fatalf("%+v cuts %v into %v", o, sizes, all)
			}
			if rest := cut(o, offset, sizes[lines:]...); !slices.Equal(rest, all[i:]) {
				t.Fatalf("%+v cuts %v into %v, but goes on with %v", o, sizes, all, rest)
			}
			offset, lines = offset+r.Length, lines+r.Requests
		}
		if lines != int64(len(sizes)) {
			t.Fatalf("%d of %d lines", lines, len(sizes))
		}
	}
}
