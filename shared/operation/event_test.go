package operation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/operation"
)

var (
	// full and other are results with every field set, each to another value.
	full = operation.Result{
		OutputFile: "files/full", Inline: true, ErrorCode: "RESOURCE_EXHAUSTED", ErrorMessage: "quota",
		Counts: &operation.Counts{Total: 3, Succeeded: 3},
	}
	other = operation.Result{
		OutputFile: "files/other", Inline: true, ErrorCode: "INTERNAL", ErrorMessage: "internal",
		Counts: &operation.Counts{Total: 5, Failed: 5},
	}
)

// TestApplySameStateFills: the same state again fills in empty fields and changes no other, field
// by field.
func TestApplySameStateFills(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		about          string
		has, got, want operation.Result
	}{
		{"nothing and nothing", operation.Result{}, operation.Result{}, operation.Result{}},
		{"nothing and all", operation.Result{}, full, full},
		{"all and nothing", full, operation.Result{}, full},
		{"all and all", full, other, full},
		{
			"output file", operation.Result{OutputFile: "files/full"}, other,
			operation.Result{OutputFile: "files/full", Inline: true, ErrorCode: "INTERNAL", ErrorMessage: "internal",
				Counts: other.Counts},
		},
		{
			"inline", operation.Result{Inline: true}, operation.Result{OutputFile: "files/other"},
			operation.Result{Inline: true, OutputFile: "files/other"},
		},
		{
			"error", operation.Result{ErrorCode: "RESOURCE_EXHAUSTED", ErrorMessage: "quota"}, other,
			operation.Result{OutputFile: "files/other", Inline: true, ErrorCode: "RESOURCE_EXHAUSTED", ErrorMessage: "quota",
				Counts: other.Counts},
		},
		{
			"counts stay together", operation.Result{Counts: full.Counts}, operation.Result{Counts: other.Counts},
			operation.Result{Counts: full.Counts},
		},
	} {
		t.Run(tt.about, func(t *testing.T) {
			t.Parallel()
			for _, state := range worldStates() {
				r, e := record(state, early), event(state, late)
				r.Result, e.Result = tt.has, tt.got
				r.SettledAt, r.SettledBy = early, operation.Webhook
				e.Source = operation.Reconcile
				want := r
				want.Result, want.UpdateTime = tt.want, late // and neither SettledAt nor SettledBy
				if diff := cmp.Diff(want, operation.Apply(r, e, now)); diff != "" {
					t.Errorf("%q again (-want +got):\n%s", state, diff)
				}
			}
		})
	}
}

// TestApplyNewStateBringsItsResult: a new state brings its own result, and nothing of the former
// one's is left: a success has no error code.
func TestApplyNewStateBringsItsResult(t *testing.T) {
	t.Parallel()
	for _, has := range []operation.Result{{}, full} {
		for _, brings := range []operation.Result{{}, {ErrorCode: "INTERNAL"}, other} {
			for _, was := range worldStates() {
				for _, is := range worldStates() {
					if was == is {
						continue
					}
					r, e := complete(), event(is, late)
					r.State, r.Result, e.Result, e.Source = was, has, brings, operation.Webhook
					e.CorrelationID = "c-2" // matching an operation by it is the ledger's [K6]
					want := r.WithoutCondition()
					want.State, want.UpdateTime, want.Result = is, late, brings
					if is.Terminal() {
						want.SettledAt, want.SettledBy = now, operation.Webhook
					}
					if diff := cmp.Diff(want, operation.Apply(r, e, now)); diff != "" {
						t.Errorf("%q to %q (-want +got):\n%s", was, is, diff)
					}
				}
			}
		}
	}
}

// TestSettledOnce: the time and the path of the end are those of the event that settled the
// operation. Only an allowed move to another end changes them [L1, M5].
func TestSettledOnce(t *testing.T) {
	t.Parallel()
	hour := func(n int) time.Time { return early.Add(time.Duration(n) * time.Hour) }
	allowed := transitions(t, "SUCCEEDED:FAILED")
	r := operation.Record{}
	for n, step := range []struct {
		state     operation.State
		source    operation.Source
		reason    operation.Reason
		settledAt time.Time
		settledBy operation.Source
	}{
		{operation.Pending, operation.Webhook, operation.Advanced, time.Time{}, ""},
		{operation.Running, operation.Reconcile, operation.Advanced, time.Time{}, ""},
		{operation.Running, operation.Webhook, operation.Refreshed, time.Time{}, ""},
		{operation.Succeeded, operation.Reconcile, operation.Advanced, hour(103), operation.Reconcile},
		{operation.Succeeded, operation.Webhook, operation.Refreshed, hour(103), operation.Reconcile},
		{operation.Expired, operation.Webhook, operation.TerminalConflict, hour(103), operation.Reconcile},
		{operation.Failed, operation.Webhook, operation.Transition, hour(106), operation.Webhook},
		{operation.Failed, operation.Reconcile, operation.Refreshed, hour(106), operation.Webhook},
		{operation.Succeeded, operation.Reconcile, operation.TerminalConflict, hour(106), operation.Webhook},
	} {
		e := event(step.state, hour(n))
		e.Source = step.source
		d := operation.Reduce(r, e, allowed)
		if d.Reason != step.reason {
			t.Fatalf("step %d: reason is %q, want %q", n, d.Reason, step.reason)
		}
		if d.Applied {
			r = operation.Apply(r, e, hour(100+n))
		}
		if !r.SettledAt.Equal(step.settledAt) || r.SettledBy != step.settledBy {
			t.Errorf("step %d, %s: settled by %q at %v, want %q at %v", n, step.state, r.SettledBy, r.SettledAt,
				step.settledBy, step.settledAt)
		}
	}
}

// TestConflictStandsBesideTheEnd: another end than the one that stands is kept, until that end is
// itself applied. A conflict that an older revision left about the end that stands is none [M5].
func TestConflictStandsBesideTheEnd(t *testing.T) {
	t.Parallel()
	r := operation.Refuse(record(operation.Succeeded, early), event(operation.Failed, late), now)
	if !r.Conflicted() || r.ConflictState != operation.Failed || !r.ConflictAt.Equal(now) {
		t.Errorf("refused, it is %+v", r)
	}
	if again := operation.Apply(r, event(operation.Succeeded, late), now); !again.Conflicted() {
		t.Errorf("the end that stands, again, leaves %+v", again)
	}
	moved := operation.Apply(r, event(operation.Failed, late), now)
	if moved.Conflicted() || moved.ConflictState != "" || moved.ConflictBy != "" || !moved.ConflictAt.IsZero() {
		t.Errorf("the other end, applied, leaves %+v", moved)
	}
	r.State = operation.Failed
	if r.Conflicted() {
		t.Error("a conflict about the end that stands counts")
	}
	if record(operation.Failed, early).Conflicted() {
		t.Error("a record without a conflict has one")
	}
}

// TestApplyCutsTimes: both times that Apply writes are cut to microseconds, the server's and the
// store's. A missing one stays missing [M4].
func TestApplyCutsTimes(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", -18000)
	got := operation.Apply(operation.Record{}, event(operation.Failed, early.Add(1999).In(zone)), now.Add(2001).In(zone))
	if want := early.Add(time.Microsecond); got.UpdateTime != want {
		t.Errorf("update time is %v, want %v", got.UpdateTime, want)
	}
	if want := now.Add(2 * time.Microsecond); got.SettledAt != want {
		t.Errorf("settled at %v, want %v", got.SettledAt, want)
	}
	got = operation.Apply(record(operation.Pending, early), event(operation.Running, missing), now)
	if !got.UpdateTime.IsZero() {
		t.Errorf("update time is %v, want none: a new state does not inherit the former one's", got.UpdateTime)
	}
}

func TestInstant(t *testing.T) { // [M4]
	t.Parallel()
	for _, tt := range []struct{ at, want string }{
		{"", ""},
		{"2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"},
		{"2026-03-01T14:00:00+02:00", "2026-03-01T12:00:00Z"},
		{"2026-03-01T23:30:00-05:00", "2026-03-02T04:30:00Z"},
		{"2026-03-01T12:00:00.000001Z", "2026-03-01T12:00:00.000001Z"},
		{"2026-03-01T12:00:00.123456789Z", "2026-03-01T12:00:00.123456Z"},
		{"2026-03-01T12:00:00.999999999Z", "2026-03-01T12:00:00.999999Z"},
		{"1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
		{"1969-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.999999Z"},
	} {
		want := instant(t, tt.want).UTC()
		got := operation.Instant(instant(t, tt.at))
		if got != want { // the same in every bit, so that documents can be compared
			t.Errorf("Instant(%q) = %v, want %v", tt.at, got, want)
		}
		if again := operation.Instant(got); again != got {
			t.Errorf("Instant of %v is %v", got, again)
		}
	}
	if live := operation.Instant(time.Now()); live != live.Round(0) {
		t.Errorf("%v keeps a monotonic clock", live)
	}
}

// TestAnnounced: Gemini has an event for each terminal state but a cancellation, a video that failed, and an
// interaction that is incomplete or over budget; of a job it knows nothing [R4].
func TestAnnounced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key   operation.Key
		state operation.State
		code  string
		want  bool
	}{
		{"batches/a", operation.Succeeded, "", true}, {"batches/a", operation.Expired, "", true},
		{"batches/a", operation.Failed, "13", true}, {"batches/a", operation.Cancelled, "", false},
		{"batches/a", operation.Running, "", false},
		{"operations/a", operation.Succeeded, "", true}, {"operations/a", operation.Failed, "13", false},
		{"interactions/a", operation.Failed, "", true},
		{"interactions/a", operation.Failed, "incomplete", false},
		{"interactions/a", operation.Failed, "budget_exceeded", false},
		{"jobs/a", operation.Succeeded, "", false}, {"jobs/a", operation.Failed, "", false},
	} {
		if got := operation.Announced(c.key, c.state, operation.Result{ErrorCode: c.code}); got != c.want {
			t.Errorf("R4: %s %s %q: %t", c.key, c.state, c.code, got)
		}
	}
}
