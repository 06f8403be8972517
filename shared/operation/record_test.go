package operation_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/operation"
)

const retention = 14 * 24 * time.Hour

// effects are the sets of side effects that a record may have, and whether something is left to do
// in them.
var effects = map[string]struct {
	statuses map[string]operation.EffectStatus
	left     bool
}{
	"none":          {nil, false},
	"empty":         {map[string]operation.EffectStatus{}, false},
	"done":          {map[string]operation.EffectStatus{"publish": "done"}, false},
	"open":          {map[string]operation.EffectStatus{"publish": "open"}, true},
	"dead":          {map[string]operation.EffectStatus{"publish": "dead"}, true},
	"all done":      {map[string]operation.EffectStatus{"publish": "done", "log": "done"}, false},
	"done and open": {map[string]operation.EffectStatus{"publish": "done", "log": "open"}, true},
	"done and dead": {map[string]operation.EffectStatus{"publish": "done", "log": "dead"}, true},
	"open and dead": {map[string]operation.EffectStatus{"publish": "dead", "log": "open"}, true},
	"unheard of":    {map[string]operation.EffectStatus{"publish": "paused"}, true},
	"waived":        {map[string]operation.EffectStatus{"publish": "waived"}, false},
	"all closed":    {map[string]operation.EffectStatus{"publish": "waived", "log": "done"}, false},
	"waived, open":  {map[string]operation.EffectStatus{"publish": "waived", "page@stuck-1": "open"}, true},
	"waived, dead":  {map[string]operation.EffectStatus{"publish": "waived", "log": "dead"}, true},
}

// TestClosed: the end and the effects are two axes [L1]: a record is closed only when both are
// finished.
func TestClosed(t *testing.T) {
	t.Parallel()
	for _, state := range worldStates() {
		for about, effects := range effects {
			r := record(state, early)
			r.Effects = effects.statuses
			if got, want := r.Settled(), state.Terminal(); got != want {
				t.Errorf("%q with effects %s: settled is %v", state, about, got)
			}
			if got, want := r.Closed(), state.Terminal() && !effects.left; got != want {
				t.Errorf("%q with effects %s: closed is %v, want %v", state, about, got, want)
			}
		}
	}
}

// TestClosedEffects: what is done, waived or withheld needs nothing more. What is open, dead or of an
// unknown word keeps the record [L3].
func TestClosedEffects(t *testing.T) {
	t.Parallel()
	for status, want := range map[operation.EffectStatus]bool{
		operation.EffectDone: true, operation.EffectWaived: true, operation.EffectWithheld: true,
		operation.EffectOpen: false, operation.EffectDead: false, "later": false, "": false,
	} {
		if got := status.Closed(); got != want {
			t.Errorf("an effect that is %q: closed is %v, want %v", status, got, want)
		}
	}
}

// TestLifetime: the truth table of when a record is looked up again and when it is deleted [L3,
// L4]. Every row is tried with and without an earlier DueAt and ExpireAt, in every state, abandoned
// or not.
func TestLifetime(t *testing.T) {
	t.Parallel()
	table := map[string]struct{ pending, settled, unregistered fate }{
		//                registered, pending  registered, settled  unregistered, either
		"none":          {fate{waits: true}, fate{expires: true}, fate{expires: true}},
		"empty":         {fate{waits: true}, fate{expires: true}, fate{expires: true}},
		"done":          {fate{waits: true}, fate{expires: true}, fate{expires: true}},
		"all done":      {fate{waits: true}, fate{expires: true}, fate{expires: true}},
		"open":          {fate{waits: true}, fate{}, fate{expires: true}},
		"dead":          {fate{waits: true}, fate{}, fate{expires: true}},
		"done and open": {fate{waits: true}, fate{}, fate{expires: true}},
		"done and dead": {fate{waits: true}, fate{}, fate{expires: true}},
		"open and dead": {fate{waits: true}, fate{}, fate{expires: true}},
		"unheard of":    {fate{waits: true}, fate{}, fate{expires: true}},
		"waived":        {fate{waits: true}, fate{expires: true}, fate{expires: true}},
		"all closed":    {fate{waits: true}, fate{expires: true}, fate{expires: true}},
		"waived, open":  {fate{waits: true}, fate{}, fate{expires: true}},
		"waived, dead":  {fate{waits: true}, fate{}, fate{expires: true}},
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(effects)), slices.Sorted(maps.Keys(table))); diff != "" {
		t.Fatalf("rows (-effects +table):\n%s", diff)
	}
	for about, row := range table {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			for _, state := range worldStates() {
				for _, registered := range []bool{true, false} {
					for _, abandoned := range []*operation.Decided{nil, {At: early, Why: "lost"}} {
						for _, due := range []time.Time{{}, late} {
							for _, expiry := range []time.Time{{}, late.Add(retention)} {
								r := record(state, early)
								r.Registered, r.Abandoned, r.DueAt, r.ExpireAt, r.Effects = registered, abandoned, due, expiry,
									effects[about].statuses
								fate := pick(row.pending, row.settled, row.unregistered, r)
								fate.waits = fate.waits && abandoned == nil // Gemini is not asked any more, and it is not deleted either [R4]
								checkLifetime(t, r, fate)
							}
						}
					}
				}
			}
		})
	}
}

// A fate is what a record's times say: it is due again, or expires, or neither.
type fate struct{ waits, expires bool }

func checkLifetime(t *testing.T, r operation.Record, fate fate) {
	t.Helper()
	want := r
	switch {
	case fate.waits:
		want.ExpireAt = time.Time{} // DueAt stays
	case fate.expires && r.ExpireAt.IsZero():
		want.DueAt, want.ExpireAt = time.Time{}, now.Add(retention)
	case fate.expires:
		want.DueAt = time.Time{} // ExpireAt stays: what is closed is not prolonged by being written
	default:
		want.DueAt, want.ExpireAt = time.Time{}, time.Time{}
	}
	got := r.Lifetime(now, retention)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q, registered %v (-want +got):\n%s", r.State, r.Registered, diff)
	}
	if !got.DueAt.IsZero() && !got.ExpireAt.IsZero() {
		t.Errorf("%q, registered %v: waits until %v and expires at %v", r.State, r.Registered, got.DueAt, got.ExpireAt)
	}
	if diff := cmp.Diff(got, got.Lifetime(now.Add(time.Hour), retention)); diff != "" {
		t.Errorf("%q, registered %v, an hour later again (-first +second):\n%s", r.State, r.Registered, diff)
	}
}

func pick[T any](pending, settled, unregistered T, r operation.Record) T {
	switch {
	case !r.Registered:
		return unregistered
	case r.Settled():
		return settled
	default:
		return pending
	}
}

// TestLifetimeAlongALife: the retention counts from when the last effect was done, and again after
// each that is reopened [L3].
func TestLifetimeAlongALife(t *testing.T) {
	t.Parallel()
	r := record(operation.Running, early)
	r.Registered = false
	day := func(n int) time.Time { return early.AddDate(0, 0, n) }
	for _, step := range []struct {
		about  string
		day    int
		change func(operation.Record) operation.Record
		expire int // day; 0: never
	}{
		{"heard of by a delivery alone [W5]", 0, func(r operation.Record) operation.Record { return r }, 14},
		{"heard of again", 3, func(r operation.Record) operation.Record { return r }, 14},
		{"registered", 4, func(r operation.Record) operation.Record { r.Registered = true; return r }, 0},
		{"settled, an effect planned", 30, func(r operation.Record) operation.Record {
			return operation.Apply(r, event(operation.Succeeded, day(30)), day(30)).WithEffect("publish", operation.EffectOpen)
		}, 0},
		{"given up", 31, func(r operation.Record) operation.Record { return r.WithEffect("publish", operation.EffectDead) },
			0},
		{"waived", 60, func(r operation.Record) operation.Record { return r.WithEffect("publish", operation.EffectWaived) },
			74},
		{"replayed", 90, func(r operation.Record) operation.Record { return r.WithEffect("publish", operation.EffectOpen) },
			0},
		{"done", 91, func(r operation.Record) operation.Record { return r.WithEffect("publish", operation.EffectDone) }, 105},
		{"written once more", 92, func(r operation.Record) operation.Record { r.LookUps++; return r }, 105},
		{"rerun", 100, func(r operation.Record) operation.Record {
			return r.WithEffect("publish@n1",
				operation.EffectOpen)
		}, 0},
		{"rerun done", 101, func(r operation.Record) operation.Record {
			return r.WithEffect("publish@n1",
				operation.EffectDone)
		}, 115},
	} {
		r = step.change(r).Lifetime(day(step.day), retention)
		var want time.Time
		if step.expire > 0 {
			want = day(step.expire)
		}
		if !r.ExpireAt.Equal(want) {
			t.Errorf("day %d, %s: expires at %v, want %v", step.day, step.about, r.ExpireAt, want)
		}
	}
}

// TestLifetimeIsCutToMicroseconds: a stored time equals itself, because it is cut as all others
// are.
func TestLifetimeIsCutToMicroseconds(t *testing.T) {
	t.Parallel()
	zoned := now.Add(1999 * time.Nanosecond).In(time.FixedZone("", 7200))
	got := record(operation.Failed, early).Lifetime(zoned, retention).ExpireAt
	if want := now.Add(retention + time.Microsecond); got != want {
		t.Errorf("expires at %v, want %v", got, want)
	}
}

func TestWithEffect(t *testing.T) { // [L1]
	t.Parallel()
	before := map[string]operation.EffectStatus{"publish": operation.EffectOpen, "log": operation.EffectDone}
	for _, tt := range []struct {
		about string
		has   map[string]operation.EffectStatus
		want  map[string]operation.EffectStatus
	}{
		{"none yet", nil, map[string]operation.EffectStatus{"publish": "dead"}},
		{"another", map[string]operation.EffectStatus{"log": "done"},
			map[string]operation.EffectStatus{"publish": "dead", "log": "done"}},
		{"the same", before, map[string]operation.EffectStatus{"publish": "dead", "log": "done"}},
	} {
		t.Run(tt.about, func(t *testing.T) {
			t.Parallel()
			r := record(operation.Succeeded, early)
			r.Effects = tt.has
			untouched := maps.Clone(tt.has)
			want := r
			want.Effects, want.DeadEffect = tt.want, true
			got := r.WithEffect("publish", operation.EffectDead)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, status := range []operation.EffectStatus{operation.EffectOpen, operation.EffectDone, operation.EffectWaived} {
				if got.WithEffect("publish", status).DeadEffect || !got.WithEffect("log", status).DeadEffect {
					t.Errorf("%s: it does not say whether an effect is dead", status)
				}
			}
			// The two share nothing, in either direction.
			got.Effects["later"] = operation.EffectOpen
			if diff := cmp.Diff(untouched, r.Effects); diff != "" {
				t.Errorf("the first record changed:\n%s", diff)
			}
		})
	}
}

// TestDocumentFieldsAgree: a field has the same name in JSON and Firestore, and none lacks one
// [G4].
func TestDocumentFieldsAgree(t *testing.T) {
	t.Parallel()
	for _, document := range []any{operation.Record{}, operation.Result{}, operation.Counts{},
		operation.Decided{}} {
		kind := reflect.TypeOf(document)
		for _, field := range reflect.VisibleFields(kind) {
			if field.Anonymous {
				continue
			}
			names := map[string]bool{}
			for _, tag := range []string{"json", "firestore"} {
				name, _, _ := strings.Cut(field.Tag.Get(tag), ",")
				names[name] = true
			}
			if len(names) != 1 || names[""] {
				t.Errorf("%s.%s is called %v", kind.Name(), field.Name, slices.Sorted(maps.Keys(names)))
			}
		}
	}
}

// complete is a record with every field set.
func complete() operation.Record {
	return operation.Record{
		Schema: operation.SchemaVersion, Version: 7, Key: "batches/abc", Collection: operation.Batches,
		Name:       "models/m/batches/abc",
		Submission: operation.Submission{JobKind: "batch-review-classify", Metadata: `{"a":[1,"b"]}`, CorrelationID: "c-1"},
		State:      operation.Failed, UpdateTime: early, Registered: true, CreatedAt: early,
		SubmittedAt: early, SettledAt: late, SettledBy: operation.Reconcile, LookUps: 3,
		Result: operation.Result{
			OutputFile: "files/x", Inline: true, ErrorCode: "RESOURCE_EXHAUSTED", ErrorMessage: "quota",
			Counts: &operation.Counts{Total: 4, Succeeded: 1, Failed: 2, Pending: 1},
		},
		Effects:    map[string]operation.EffectStatus{"publish": operation.EffectDead},
		StuckSince: early, AlertedAt: early, Condition: "not-found", ConditionSince: early, MissingSince: early,
		MissingAlertedAt: late,
		Abandoned: &operation.Decided{At: late, By: "ops@example.com",
			Why: "lost"}, DueAt: late, ExpireAt: late,
	}
}
