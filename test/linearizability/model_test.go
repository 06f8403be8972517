package linearizability

import (
	"math"
	"testing"

	"github.com/anishathalye/porcupine"
)

// TestRegisterAndIngest: what one caller is answered is the one answer that the model allows, and
// any other is refused [M3, M5, W4, W5].
func TestRegisterAndIngest(t *testing.T) {
	t.Parallel()
	running := input{Call: ingest, Source: "webhook", Delivery: 1, State: "RUNNING", UpdateTime: 10}
	succeeded := input{Call: ingest, Source: "webhook", Delivery: 2, State: "SUCCEEDED", UpdateTime: 20, File: "files/2"}
	failed := input{Call: ingest, Source: "reconcile", Delivery: 2, State: "FAILED", UpdateTime: 30}
	registered := record{Version: 3, State: "SUCCEEDED", UpdateTime: 20, File: "files/2", SettledBy: "webhook"}
	registered.Registered, registered.Effects = true, [effects]string{"open", ""}
	nightly, conflicting := registered, registered
	nightly.Version, nightly.JobKind, nightly.Effects[1] = 4, jobKind, "open"
	conflicting.Version, conflicting.Conflict, conflicting.ConflictBy = 4, "FAILED", "reconcile"

	settled := []step{
		{running, output{Outcome: "applied", Reason: "advanced", State: "RUNNING"}},
		{succeeded, output{Outcome: "applied", Reason: "advanced", State: "SUCCEEDED", Settled: true}},
		{input{Call: register}, output{Record: registered, Planned: 1}},
	}
	for name, tt := range map[string]struct {
		before []step
		call   input
		right  output
		wrong  map[string]func(*output)
	}{
		"a registration plans what is due": {
			before: settled[:2], call: input{Call: register}, right: output{Record: registered, Planned: 1},
			wrong: map[string]func(*output){
				"planned twice": func(o *output) { o.Planned = 2 },
				"created again": func(o *output) { o.Created = true },
				"lost update":   func(o *output) { o.Record.Version = 2 },
				"rolled back":   func(o *output) { o.Record.State = "RUNNING" },
				"not planned":   func(o *output) { o.Record.Effects[0], o.Planned = "", 0 },
			},
		},
		"a job kind plans what it is for": {
			before: settled, call: input{Call: register, JobKind: jobKind}, right: output{Record: nightly, Planned: 1},
			wrong: map[string]func(*output){"planned again": func(o *output) { o.Planned = 2 }},
		},
		"a late event is dropped": {
			before: settled, call: input{Call: ingest, Source: "webhook", Delivery: 3, State: "RUNNING", UpdateTime: 99},
			right: output{Outcome: "dropped", Reason: "regress-from-terminal", State: "SUCCEEDED", Registered: true},
			wrong: map[string]func(*output){"applied": func(o *output) { o.Outcome = "applied" }},
		},
		"a delivery that comes again is a duplicate": {
			before: settled, call: running, right: output{Outcome: "duplicate", State: "SUCCEEDED", Registered: true},
			wrong: map[string]func(*output){"dropped": func(o *output) { o.Outcome = "dropped" }},
		},
		"another end is a conflict": {
			before: settled, call: failed,
			right: output{Outcome: "conflict", Reason: "terminal-conflict", State: "SUCCEEDED", Registered: true},
			wrong: map[string]func(*output){
				"applied": func(o *output) { o.Outcome, o.Reason, o.State = "applied", "transition", "FAILED" },
			},
		},
		"a read sees the conflict": {
			before: append(settled[:3:3], step{failed, output{
				Outcome: "conflict", Reason: "terminal-conflict", State: "SUCCEEDED", Registered: true,
			}}),
			call: input{Call: read}, right: output{Record: conflicting},
			wrong: map[string]func(*output){
				"a stale read":   func(o *output) { o.Record = registered },
				"the other end":  func(o *output) { o.Record.State = "FAILED" },
				"no such record": func(o *output) { o.Record = record{} },
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			allows(t, true, append(tt.before[:len(tt.before):len(tt.before)], step{tt.call, tt.right})...)
			for name, change := range tt.wrong {
				out := tt.right
				change(&out)
				if allows(nil, false, append(tt.before[:len(tt.before):len(tt.before)], step{tt.call, out})...) {
					t.Errorf("%s: the model allows it", name)
				}
			}
		})
	}
}

// TestReduce: the reducer of the model decides as the table of [M3] says.
func TestReduce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		have, got       string
		at, time        int64
		outcome, reason string
	}{
		{"", "RUNNING", 0, 0, "applied", "advanced"},
		{"", "PAUSED", 0, 1, "applied", "refreshed"},
		{"", "PAUSED", 0, 0, "dropped", "stale-or-equal-update-time"},
		{"RUNNING", "PAUSED", 1, 2, "dropped", "lower-rank"},
		{"RUNNING", "REQUIRES_ACTION", 1, 2, "applied", "refreshed"},
		{"RUNNING", "REQUIRES_ACTION", 1, 1, "dropped", "stale-or-equal-update-time"},
		{"RUNNING", "EXPIRED", 2, 1, "applied", "advanced"},
		{"FAILED", "FAILED", 1, 2, "applied", "refreshed"},
		{"FAILED", "FAILED", 1, 0, "dropped", "stale-or-equal-update-time"},
		{"FAILED", "SUCCEEDED", 1, 2, "conflict", "terminal-conflict"},
		{"FAILED", "RUNNING", 1, 2, "dropped", "regress-from-terminal"},
	} {
		outcome, reason := record{State: tt.have, UpdateTime: tt.at}.reduce(input{State: tt.got, UpdateTime: tt.time})
		if outcome != tt.outcome || reason != tt.reason {
			t.Errorf("%+v: %s, %s", tt, outcome, reason)
		}
	}
}

// TestErrors: a call that was refused has changed nothing, one whose answer is unknown may have, and
// one that failed is not allowed.
func TestErrors(t *testing.T) {
	t.Parallel()
	call := input{Call: register}
	seen, none := record{Version: 1, State: "PENDING", Registered: true}, record{}
	for _, tt := range []struct {
		out    output
		after  record
		allows bool
	}{
		{output{Refused: true}, none, true},
		{output{Refused: true}, seen, false},
		{output{Unknown: "the store is unavailable"}, none, true},
		{output{Unknown: "the store is unavailable"}, seen, true},
		{output{Failed: "broken"}, none, false},
		{output{Failed: "broken"}, seen, false},
	} {
		first := porcupine.Operation{Input: call, Output: tt.out, Call: 0, Return: second}
		if tt.out.Unknown != "" {
			first.Return = math.MaxInt64
		}
		last := porcupine.Operation{
			Input: input{Call: read}, Output: output{Record: tt.after}, Call: 2 * second, Return: 3 * second,
		}
		linearizable(t, tt.allows, first, last)
	}
}

// A step is a call and its answer, in a history of one caller.
type step struct {
	in  input
	out output
}

// second is the time between two steps, far above the lease and the slack.
const second = int64(1e9)

// allows reports whether the model allows the steps, one after the other, each in a second of its
// own. With t it wants that.
func allows(t *testing.T, want bool, steps ...step) bool {
	history := make([]porcupine.Operation, len(steps))
	for i, s := range steps {
		s.out.Began, s.out.Ended = int64(i)*second, int64(i)*second+second/2
		history[i] = porcupine.Operation{Input: s.in, Output: s.out, Call: s.out.Began, Return: s.out.Ended}
	}
	return linearizable(t, want, history...)
}

func linearizable(t *testing.T, want bool, history ...porcupine.Operation) bool {
	got := porcupine.CheckOperations(specification(bounds{ClaimTTL: 10e9, MaxAttempts: 2, Slack: 1e6}), history)
	if t != nil && got != want {
		t.Helper()
		t.Errorf("the model allows it: %v, want %v: %+v", got, want, history)
	}
	return got
}
