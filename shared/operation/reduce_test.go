package operation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/operation"
)

// The times of the tests: the server's, except where a test says otherwise.
var (
	missing time.Time
	early   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	late    = early.Add(time.Hour)
	now     = early.Add(48 * time.Hour) // the store's
)

// record is a registered operation that came into state at a server time.
func record(state operation.State, at time.Time) operation.Record {
	return operation.Record{Key: "batches/abc", Name: "batches/abc", Registered: true, State: state,
		UpdateTime: operation.Instant(at)}
}

// event is a report that the same operation came into state at a server time.
func event(state operation.State, at time.Time) operation.Event {
	return operation.Event{
		Name:   operation.Name{Key: "batches/abc", Resource: "batches/abc"},
		Source: operation.Webhook, DeliveryID: "msg_1", State: state, UpdateTime: at,
	}
}

// transitions is ParseTransitions for valid moves.
func transitions(t testing.TB, moves string) operation.Transitions {
	t.Helper()
	allowed, err := operation.ParseTransitions(moves)
	if err != nil {
		t.Fatalf("ParseTransitions(%q): %v", moves, err)
	}
	return allowed
}

// TestReduce: the rows are in the order of the checks [M3]. A row to which two checks apply shows
// which comes first.
func TestReduce(t *testing.T) {
	t.Parallel()
	const succeededFailed = "SUCCEEDED:FAILED"
	for _, tt := range []struct {
		about   string
		was     operation.State
		wasAt   time.Time
		is      operation.State
		isAt    time.Time
		allowed string
		applied bool
		reason  operation.Reason
	}{
		// 1. A settled operation is not reopened [M3, M9], and the reason is not its lower rank.
		{about: "running after the end", was: "SUCCEEDED", wasAt: early, is: "RUNNING", isAt: early,
			reason: "regress-from-terminal"},
		{about: "running after the end, newer", was: "SUCCEEDED", wasAt: early, is: "RUNNING", isAt: late,
			reason: "regress-from-terminal"},
		{about: "pending after the end, newer", was: "EXPIRED", wasAt: early, is: "PENDING", isAt: late,
			reason: "regress-from-terminal"},
		{about: "waiting after the end, newer", was: "CANCELLED", wasAt: early, is: "REQUIRES_ACTION", isAt: late,
			reason: "regress-from-terminal"},
		{about: "unknown after the end, newer", was: "FAILED", wasAt: early, is: "PAUSED", isAt: late,
			reason: "regress-from-terminal"},
		{about: "empty after the end, newer", was: "FAILED", wasAt: early, is: "", isAt: late,
			reason: "regress-from-terminal"},
		{about: "no policy reopens", was: "SUCCEEDED", wasAt: early, is: "RUNNING", isAt: late, allowed: succeededFailed,
			reason: "regress-from-terminal"},

		// 2. A lower rank never wins, however new [M1, M3].
		{about: "pending after running, newer", was: "RUNNING", wasAt: early, is: "PENDING", isAt: late,
			reason: "lower-rank"},
		{about: "pending after waiting, newer", was: "REQUIRES_ACTION", wasAt: early, is: "PENDING", isAt: late,
			reason: "lower-rank"},
		{about: "unknown after pending, newer", was: "PENDING", wasAt: early, is: "PAUSED", isAt: late, reason: "lower-rank"},
		{about: "unknown after running, older too", was: "RUNNING", wasAt: late, is: "", isAt: early, reason: "lower-rank"},

		// 3. The first end stands, even against a newer one [M5]; the reason is not the time of an older one [M3].
		{about: "other end, newer", was: "SUCCEEDED", wasAt: early, is: "FAILED", isAt: late, reason: "terminal-conflict"},
		{about: "other end, same time", was: "SUCCEEDED", wasAt: early, is: "FAILED", isAt: early,
			reason: "terminal-conflict"},
		{about: "other end, older", was: "SUCCEEDED", wasAt: late, is: "FAILED", isAt: early, reason: "terminal-conflict"},
		{about: "other end, time missing", was: "FAILED", wasAt: late, is: "SUCCEEDED", reason: "terminal-conflict"},
		{about: "another move is allowed", was: "FAILED", wasAt: early, is: "SUCCEEDED", isAt: late,
			allowed: succeededFailed, reason: "terminal-conflict"},

		// A higher rank wins, however old [M1].
		{about: "first report", was: "", is: "PENDING", isAt: early, applied: true, reason: "advanced"},
		{about: "first report is the last", was: "", is: "SUCCEEDED", isAt: early, applied: true, reason: "advanced"},
		{about: "first report says no time", was: "", is: "PENDING", applied: true, reason: "advanced"},
		{about: "known after unknown, older", was: "PAUSED", wasAt: late, is: "PENDING", isAt: early, applied: true,
			reason: "advanced"},
		{about: "running after pending", was: "PENDING", wasAt: early, is: "RUNNING", isAt: late, applied: true,
			reason: "advanced"},
		{about: "running after pending, same time", was: "PENDING", wasAt: early, is: "RUNNING", isAt: early, applied: true,
			reason: "advanced"},
		{about: "running after pending, older", was: "PENDING", wasAt: late, is: "RUNNING", isAt: early, applied: true,
			reason: "advanced"},
		{about: "waiting after pending", was: "PENDING", wasAt: early, is: "REQUIRES_ACTION", isAt: late, applied: true,
			reason: "advanced"},
		{about: "end after running", was: "RUNNING", wasAt: early, is: "SUCCEEDED", isAt: late, applied: true,
			reason: "advanced"},
		{about: "end after running, older", was: "RUNNING", wasAt: late, is: "FAILED", isAt: early, applied: true,
			reason: "advanced"},
		{about: "end after waiting", was: "REQUIRES_ACTION", wasAt: early, is: "EXPIRED", isAt: late, applied: true,
			reason: "advanced"},
		{about: "end after pending, time missing", was: "PENDING", wasAt: late, is: "CANCELLED", applied: true,
			reason: "advanced"},

		// 4. At equal rank only a newer time passes [M3, M4].
		{about: "same state, newer", was: "RUNNING", wasAt: early, is: "RUNNING", isAt: late, applied: true,
			reason: "refreshed"},
		{about: "same state, same time", was: "RUNNING", wasAt: early, is: "RUNNING", isAt: early,
			reason: "stale-or-equal-update-time"},
		{about: "same state, older", was: "RUNNING", wasAt: late, is: "RUNNING", isAt: early,
			reason: "stale-or-equal-update-time"},
		{about: "waiting after running, newer", was: "RUNNING", wasAt: early, is: "REQUIRES_ACTION", isAt: late,
			applied: true, reason: "refreshed"},
		{about: "waiting after running, same time", was: "RUNNING", wasAt: early, is: "REQUIRES_ACTION", isAt: early,
			reason: "stale-or-equal-update-time"},
		{about: "running after waiting, older", was: "REQUIRES_ACTION", wasAt: late, is: "RUNNING", isAt: early,
			reason: "stale-or-equal-update-time"},
		{about: "unknown after unknown, newer", was: "PAUSED", wasAt: early, is: "THROTTLED", isAt: late, applied: true,
			reason: "refreshed"},
		{about: "same end, newer", was: "SUCCEEDED", wasAt: early, is: "SUCCEEDED", isAt: late, applied: true,
			reason: "refreshed"},
		{about: "same end, same time", was: "SUCCEEDED", wasAt: early, is: "SUCCEEDED", isAt: early,
			reason: "stale-or-equal-update-time"},
		{about: "same end, older", was: "SUCCEEDED", wasAt: late, is: "SUCCEEDED", isAt: early,
			reason: "stale-or-equal-update-time"},

		// An allowed move between ends is still decided by the time: without a newer one it is a conflict, which an
		// operator sees, and an older one is stale [M4, M5].
		{about: "allowed move, newer", was: "SUCCEEDED", wasAt: early, is: "FAILED", isAt: late, allowed: succeededFailed,
			applied: true, reason: "transition"},
		{about: "allowed move, same time", was: "SUCCEEDED", wasAt: early, is: "FAILED", isAt: early,
			allowed: succeededFailed, reason: "terminal-conflict"},
		{about: "allowed move, older", was: "SUCCEEDED", wasAt: late, is: "FAILED", isAt: early, allowed: succeededFailed,
			reason: "stale-or-equal-update-time"},
		{about: "allowed move, time missing", was: "SUCCEEDED", wasAt: early, is: "FAILED", allowed: succeededFailed,
			reason: "terminal-conflict"},
		{about: "allowed move, time missing in both", was: "SUCCEEDED", is: "FAILED", allowed: succeededFailed,
			reason: "terminal-conflict"},
		{about: "allowed move, time is 1970", was: "SUCCEEDED", wasAt: early, is: "FAILED", isAt: time.Unix(0, 0),
			allowed: succeededFailed, reason: "terminal-conflict"},
		{about: "allowed move, the first had no time", was: "SUCCEEDED", is: "FAILED", isAt: early,
			allowed: succeededFailed, applied: true, reason: "transition"},
		{about: "allowed by way of another", was: "SUCCEEDED", wasAt: early, is: "EXPIRED", isAt: late,
			allowed: "FAILED:EXPIRED SUCCEEDED:FAILED", applied: true, reason: "transition"},
		{about: "same end where moves are allowed", was: "SUCCEEDED", wasAt: early, is: "SUCCEEDED", isAt: late,
			allowed: succeededFailed, applied: true, reason: "refreshed"},
	} {
		t.Run(tt.about, func(t *testing.T) {
			t.Parallel()
			want := operation.Decision{Applied: tt.applied, Reason: tt.reason}
			got := operation.Reduce(record(tt.was, tt.wasAt), event(tt.is, tt.isAt), transitions(t, tt.allowed))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q to %q (-want +got):\n%s", tt.was, tt.is, diff)
			}
		})
	}
}

// TestReduceComparesInstants: times are instants cut to microseconds, never text. A missing one
// loses every tie [M4].
func TestReduceComparesInstants(t *testing.T) {
	t.Parallel()
	const none, epoch = "", "1970-01-01T00:00:00Z"
	for _, tt := range []struct {
		about   string
		was, is string // RFC 3339
		newer   bool
	}{
		{"zone ahead, same instant", "2026-03-01T12:00:00Z", "2026-03-01T14:00:00+02:00", false},
		{"zone behind, same instant", "2026-03-01T12:00:00Z", "2026-03-01T07:00:00-05:00", false},
		{"later as text, earlier as an instant", "2026-03-01T12:00:00Z", "2026-03-01T13:59:59+02:00", false},
		{"earlier as text, later as an instant", "2026-03-01T12:00:00Z", "2026-03-01T07:00:01-05:00", true},
		{"earlier day as text, later as an instant", "2026-03-01T00:30:00+02:00", "2026-02-28T23:00:00Z", true},
		{"fraction against none: later, though '.' sorts before 'Z'", "2026-03-01T12:00:00Z", "2026-03-01T12:00:00.5Z", true},
		{"none against fraction: earlier, though 'Z' sorts after '.'", "2026-03-01T12:00:00.5Z", "2026-03-01T12:00:00Z",
			false},
		{"more digits, same instant", "2026-03-01T12:00:00.5Z", "2026-03-01T12:00:00.500000Z", false},
		{"fewer digits, same instant", "2026-03-01T12:00:00.120Z", "2026-03-01T12:00:00.12Z", false},
		{"one microsecond later", "2026-03-01T12:00:00.000001Z", "2026-03-01T12:00:00.000002Z", true},
		{"one microsecond earlier", "2026-03-01T12:00:00.000002Z", "2026-03-01T12:00:00.000001Z", false},
		{"nanoseconds within one microsecond", "2026-03-01T12:00:00.000001Z", "2026-03-01T12:00:00.000001999Z", false},
		{"nanoseconds across a microsecond", "2026-03-01T12:00:00.000001999Z", "2026-03-01T12:00:00.000002Z", true},
		{"cut, not rounded", "2026-03-01T12:00:00.000001Z", "2026-03-01T12:00:00.0000015Z", false},

		{"both missing", none, none, false},
		{"event's missing", "2026-03-01T12:00:00Z", none, false},
		{"record's missing", none, "2026-03-01T12:00:00Z", true},
		{"missing is the epoch: event", epoch, none, false},
		{"missing is the epoch: record", none, epoch, false},
		{"one microsecond after a missing one", none, "1970-01-01T00:00:00.000001Z", true},
		{"less than that after a missing one", none, "1970-01-01T00:00:00.000000999Z", false},
	} {
		t.Run(tt.about, func(t *testing.T) {
			t.Parallel()
			want := operation.Decision{Reason: operation.StaleOrEqualUpdateTime}
			if tt.newer {
				want = operation.Decision{Applied: true, Reason: operation.Refreshed}
			}
			was, is := instant(t, tt.was), instant(t, tt.is)
			// A record that a store gave back and one that still has nanoseconds are the same.
			for _, kept := range []time.Time{was, operation.Instant(was)} {
				r := record(operation.Running, missing)
				r.UpdateTime = kept
				if got := operation.Reduce(r, event(operation.Running, is), operation.Transitions{}); got != want {
					t.Errorf("%q on a record of %v: %+v, want %+v", tt.is, kept, got, want)
				}
			}
		})
	}
}

// instant parses RFC 3339 and keeps the zone; "" is the zero time.
func instant(t testing.TB, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
