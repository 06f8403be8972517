package linearizability

import (
	"math"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// planned are the calls that plan the effect.
var planned = []step{
	{input{Call: register}, output{Created: true, Record: record{Version: 1, State: "PENDING", Registered: true}}},
	{input{Call: ingest, State: "FAILED"}, output{
		Outcome: "applied", Reason: "advanced", Registered: true, Settled: true, State: "FAILED", Planned: 1,
	}},
}

// The calls about the effect, and what they are answered.
var (
	aClaim  = input{Call: claim}
	granted = grant(1)
	seized  = seizure(2)
	held    = output{Verdict: "held"}
	isDone  = output{Verdict: "done"}
	lost    = output{Lost: true}
	ok      = output{}
)

// grant is the answer of a claim, which is the attempt of its fence's number.
func grant(fence int64) output {
	return output{Verdict: "claimed", Fence: fence, Attempt: int(fence), Payload: "FAILED  "}
}

func seizure(fence int64) output {
	out := grant(fence)
	out.Seized = true
	return out
}

func finishes(fence int64) input { return input{Call: finish, Fence: fence} }
func releases(fence int64) input { return input{Call: release, Fence: fence} }

// at returns a call that is answered in an interval, in seconds. Its time of return is its
// answer's.
func at(began, ended float64, in input, out output) porcupine.Operation {
	out.Began, out.Ended = int64(began*1e9), int64(ended*1e9)
	op := porcupine.Operation{Input: in, Output: out, Call: out.Began, Return: out.Ended}
	if out.Unknown != "" {
		op.Return = math.MaxInt64
	}
	return op
}

func begun(more ...porcupine.Operation) []porcupine.Operation {
	return append([]porcupine.Operation{
		at(0, .1, planned[0].in, planned[0].out), at(.2, .3, planned[1].in, planned[1].out),
	}, more...)
}

// TestClaims: of concurrent claims one is granted, until its lease is over, and every claim has a
// fence of its own [S3, S6]. A lease lasts 10 s.
func TestClaims(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		want    bool
		history []porcupine.Operation
	}{
		"one of two at once":         {true, begun(at(1, 2, aClaim, granted), at(1, 2, aClaim, held))},
		"two at once":                {false, begun(at(1, 2, aClaim, granted), at(1, 2, aClaim, granted))},
		"none of two":                {false, begun(at(1, 2, aClaim, held), at(1, 2, aClaim, held))},
		"two with the same fence":    {false, begun(at(1, 2, aClaim, granted), at(20, 21, aClaim, granted))},
		"the second after the lease": {true, begun(at(1, 2, aClaim, granted), at(13, 14, aClaim, seized))},
		"the second within the lease": {
			false, begun(at(1, 2, aClaim, granted), at(9, 10, aClaim, seized)),
		},
		"the second where the lease may be over": {
			true, begun(at(1, 2, aClaim, granted), at(10.5, 11.5, aClaim, seized)),
		},
		"refused long after the lease": {false, begun(at(1, 2, aClaim, granted), at(13, 14, aClaim, held))},
		"not said to be seized": {
			false, begun(at(1, 2, aClaim, granted), at(13, 14, aClaim, grant(2))),
		},
		"another payload": {
			false, begun(at(1, 2, aClaim, output{Verdict: "claimed", Fence: 1, Attempt: 1, Payload: "SUCCEEDED  "})),
		},
		"before it is planned": {false, []porcupine.Operation{at(1, 2, aClaim, granted)}},
		"absent before it is planned": {
			true, []porcupine.Operation{at(1, 2, aClaim, output{Verdict: "absent"})},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			linearizable(t, tt.want, tt.history...)
		})
	}
}

// TestEnds: a lease that was lost cannot be finished or released, and an end is for good [S2, S4,
// S6].
func TestEnds(t *testing.T) {
	t.Parallel()
	twice := begun(at(1, 2, aClaim, granted), at(13, 14, aClaim, seized))
	and := func(more ...porcupine.Operation) []porcupine.Operation { return slices.Concat(twice, more) }
	released, finished := at(15, 15.001, releases(2), ok), at(15, 15.001, finishes(2), ok)
	isDoneNow := record{Version: 3, State: "FAILED", Registered: true, Effects: [effects]string{"done", ""}}
	reads := at(17, 18, input{Call: read}, output{Record: isDoneNow})
	for name, tt := range map[string]struct {
		want    bool
		history []porcupine.Operation
	}{
		"the holder finishes":         {true, and(finished)},
		"a stale fence finishes":      {false, and(at(15, 16, finishes(1), ok))},
		"a stale fence is refused":    {true, and(at(15, 16, finishes(1), lost))},
		"the holder is refused":       {false, and(at(15, 16, finishes(2), lost))},
		"a stale fence releases":      {false, and(at(15, 16, releases(1), ok))},
		"finished after its lease":    {true, and(at(99, 100, finishes(2), ok))},
		"finished twice by the same":  {true, and(finished, at(17, 18, finishes(2), ok))},
		"finished after its release":  {false, and(released, at(16, 17, finishes(2), ok))},
		"released, and claimed again": {true, and(released, at(16, 17, aClaim, grant(3)))},
		"released, and called seized": {false, and(released, at(16, 17, aClaim, seizure(3)))},
		"claimed in its back-off":     {false, and(released, at(15.002, 15.003, aClaim, grant(3)))},
		"claimed although it is done": {false, and(finished, at(30, 31, aClaim, seizure(3)))},
		"the record says done":        {true, and(finished, reads)},
		"the record says it too soon": {false, and(reads)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			linearizable(t, tt.want, tt.history...)
		})
	}
}

// TestUnknownAnswers: a call that was not answered may have taken effect at any time since, or not
// at all, but not before it was made.
func TestUnknownAnswers(t *testing.T) {
	t.Parallel()
	unknown := output{Unknown: "killed"}
	for name, tt := range map[string]struct {
		want    bool
		history []porcupine.Operation
	}{
		"a claim that took effect":  {true, begun(at(1, 2, aClaim, unknown), at(3, 4, aClaim, held))},
		"one that did not":          {true, begun(at(1, 2, aClaim, unknown), at(3, 4, aClaim, granted))},
		"one that did, and ran out": {true, begun(at(1, 2, aClaim, unknown), at(13, 14, aClaim, seized))},
		"one that was not made yet": {false, begun(at(1, 2, aClaim, held), at(3, 4, aClaim, unknown))},
		"one that did after another's release": {false, begun(
			at(1, 2, aClaim, unknown), at(3, 4, aClaim, granted), at(5, 6, releases(1), ok), at(8, 9, aClaim, held),
		)},
		"a finish that took effect": {true, begun(
			at(1, 2, aClaim, granted), at(3, 4, finishes(1), unknown), at(5, 6, aClaim, isDone),
		)},
		"one that did under a stale fence": {false, begun(
			at(1, 2, aClaim, granted), at(13, 14, aClaim, seized), at(15, 16, finishes(1), unknown),
			at(17, 18, aClaim, isDone),
		)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			linearizable(t, tt.want, tt.history...)
		})
	}
}
