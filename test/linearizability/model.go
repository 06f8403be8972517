package linearizability

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

// The calls of the histories.
const (
	register = "register"
	ingest   = "ingest"
	claim    = "claim"
	finish   = "finish"
	release  = "release" // of a claim whose attempt failed
	read     = "read"    // of the operation's record
)

// An input is one call. Every field that the call does not have is zero.
type input struct {
	Call string `json:"call"`
	Key  string `json:"key"` // of the operation
	// JobKind is a registration's.
	JobKind string `json:"jobKind,omitempty"`
	// An event: Delivery numbers the deliveries of a source, below 64; UpdateTime is the server's
	// time in microseconds, 0 where it has none.
	Source     string `json:"source,omitempty"`
	Delivery   int    `json:"delivery,omitempty"`
	State      string `json:"state,omitempty"`
	UpdateTime int64  `json:"updateTime,omitempty"`
	File       string `json:"file,omitempty"`
	// Effect is the index in effectNames; Fence is that of the lease to finish or release. RetryAfter
	// is how long the receiver wants to be left alone.
	Effect     int           `json:"effect,omitempty"`
	Fence      int64         `json:"fence,omitempty"`
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
}

// An output is the answer of a call.
type output struct {
	// Began and Ended are when the call was made, and when it was answered or its process was found
	// dead, in nanoseconds. The store was read in between, also where Unknown.
	Began int64 `json:"began"`
	Ended int64 `json:"ended"`
	// Unknown says why the answer is not known, in which case it has nothing else.
	Unknown string `json:"unknown,omitempty"`
	// Refused: the call changed nothing, because others changed the same documents all the time.
	Refused bool `json:"refused,omitzero"`
	// Failed is an error that no call may return.
	Failed string `json:"failed,omitempty"`
	// Races is how many commits of the call another call's commit came before.
	Races int `json:"races,omitempty"`

	Record  record `json:"record,omitzero"`  // of register and read
	Created bool   `json:"created,omitzero"` // of register
	Planned int    `json:"planned,omitzero"` // of register and ingest

	Outcome    string `json:"outcome,omitempty"` // of ingest, as are the next four
	Reason     string `json:"reason,omitempty"`
	Registered bool   `json:"registered,omitzero"`
	Settled    bool   `json:"settled,omitzero"`
	State      string `json:"state,omitempty"`

	Verdict string `json:"verdict,omitempty"` // of claim, as are the next four
	Fence   int64  `json:"fence,omitzero"`
	Attempt int    `json:"attempt,omitzero"`
	Seized  bool   `json:"seized,omitzero"`
	Payload string `json:"payload,omitempty"`

	Lost bool `json:"lost,omitzero"` // of finish and release: the lease was lost
	Dead bool `json:"dead,omitzero"` // of release: the effect was given up
}

// A record is what is seen of an operation's record, and all of it in the model. The zero record
// does not exist.
type record struct {
	Version    int64           `json:"version"` // counts the writes
	State      string          `json:"state"`
	UpdateTime int64           `json:"updateTime"`
	Registered bool            `json:"registered"`
	JobKind    string          `json:"jobKind"`
	SettledBy  string          `json:"settledBy"`
	File       string          `json:"file"` // of the result
	Conflict   string          `json:"conflict"`
	ConflictBy string          `json:"conflictBy"`
	Effects    [effects]string `json:"effects"` // open, done or dead; empty where none was planned
}

// A state is the model's whole state: one operation.
type state struct {
	record record
	// The deliveries that were ingested, a bit each.
	byWebhook, byReconcile uint64
	effects                [effects]effect
}

// bounds are what the model needs to know of the ledger's settings.
type bounds struct {
	ClaimTTL    time.Duration
	MaxAttempts int
	// Slack is how far the store's clock may be from that of the histories.
	Slack time.Duration
}

// specification returns the specification of one operation, partitioned by key.
func specification(s bounds) porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			at := map[string]int{}
			var parts [][]porcupine.Operation
			for _, op := range history {
				key := op.Input.(input).Key
				i, there := at[key]
				if !there {
					i = len(parts)
					at[key], parts = i, append(parts, nil)
				}
				parts[i] = append(parts[i], op)
			}
			return parts
		},
		Init: func() any { return state{} },
		Step: func(before, in, out any) (bool, any) {
			after, ok := s.step(before.(state), in.(input), out.(output))
			return ok, after
		},
		DescribeOperation: func(in, out any) string { return describe(in.(input), out.(output)) },
		DescribeState:     func(s any) string { return fmt.Sprintf("%+v", s) },
	}
}

// step returns the state after a call, and whether the call may be answered so in the state before.
// An unknown call takes effect where it can, and is allowed in any state.
func (s bounds) step(before state, in input, out output) (state, bool) {
	switch {
	case out.Failed != "":
		return before, false
	case out.Refused:
		return before, true
	}
	var expected output
	after := before
	switch in.Call {
	case register:
		expected = after.register(in)
	case ingest:
		expected = after.ingest(in)
	case read:
		expected = output{Record: after.record}
	default:
		e := &after.effects[in.Effect]
		ok := e.step(s, in, out)
		after.record.note(in.Effect, before.effects[in.Effect], *e)
		return after, ok || out.Unknown != ""
	}
	expected.Began, expected.Ended, expected.Races = out.Began, out.Ended, out.Races
	return after, out.Unknown != "" || expected == out
}

// register makes the operation registered, or adds the job kind that it lacks. The effects of its
// state are planned then [L2, W5].
func (s *state) register(in input) output {
	before := s.record
	r := &s.record
	if r.Version == 0 {
		r.State = "PENDING"
	}
	r.Registered = true
	if r.JobKind == "" {
		r.JobKind = in.JobKind
	}
	out := output{Created: before.Version == 0}
	if *r != before {
		r.Version++
		out.Planned = s.plan()
	}
	out.Record = *r
	return out
}

// ingest applies an event, or drops it [M3, W4].
func (s *state) ingest(in input) output {
	r := &s.record
	seen, bit := &s.byWebhook, uint64(1)<<in.Delivery
	if in.Source == "reconcile" {
		seen = &s.byReconcile
	}
	if *seen&bit != 0 {
		return output{Outcome: "duplicate", Registered: r.Registered, State: r.State}
	}
	var out output
	out.Outcome, out.Reason = r.reduce(in)
	if out.Outcome != "dropped" || in.Source != "reconcile" { // a look-up without news leaves no trace [M8]
		*seen |= bit
	}
	switch out.Outcome {
	case "applied":
		r.Version++
		if r.State == in.State {
			if r.File == "" {
				r.File = in.File
			}
		} else {
			r.State, r.File = in.State, in.File
			if ranks[in.State] == ended {
				r.SettledBy, out.Settled = in.Source, true
			}
			out.Planned = s.plan()
		}
		r.UpdateTime = in.UpdateTime
	case "conflict": // the first terminal state stands, the other is recorded [M5]
		r.Version++
		r.Conflict, r.ConflictBy = in.State, in.Source
	}
	out.Registered, out.State = r.Registered, r.State
	return out
}

// ended is the rank of the terminal states.
const ended = 3

// ranks are those of [M1]; that of an unknown state, and of a record that does not exist, is 0.
var ranks = map[string]int{
	"PENDING": 1, "RUNNING": 2, "REQUIRES_ACTION": 2,
	"SUCCEEDED": ended, "FAILED": ended, "CANCELLED": ended, "EXPIRED": ended,
}

// reduce decides about an event: the higher rank wins, between equal ranks the newer time, and
// between two ends the first [M3, M4, M5].
func (r record) reduce(in input) (outcome, reason string) {
	have, got := ranks[r.State], ranks[in.State]
	switch {
	case got > have:
		return "applied", "advanced"
	case got < have && have == ended:
		return "dropped", "regress-from-terminal"
	case got < have:
		return "dropped", "lower-rank"
	case have == ended && in.State != r.State:
		return "conflict", "terminal-conflict"
	case in.UpdateTime > r.UpdateTime:
		return "applied", "refreshed"
	default:
		return "dropped", "stale-or-equal-update-time"
	}
}

func describe(in input, out output) string {
	answer := out.Unknown
	if answer == "" {
		out.Began, out.Ended = 0, 0
		answer = fmt.Sprintf("%+v", out)
	}
	return fmt.Sprintf("%+v → %s", in, answer)
}
