package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// TestSettingsProblems: every problem is reported at once.
func TestSettingsProblems(t *testing.T) {
	t.Parallel()
	if err := DefaultSettings().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	allowed, err := operation.ParseTransitions("SUCCEEDED:FAILED")
	if err != nil {
		t.Fatal(err)
	}
	bad := Settings{
		MaxAttempts: 0, RetryFor: -time.Second, LookupMaxInterval: -1, BatchStuckAfter: -1, Transitions: allowed,
		Rules: []Rule{
			{Name: "Bad Name", On: []operation.State{operation.Succeeded}},
			{Name: "twice", On: []operation.State{operation.Pending, operation.Pending}},
			{Name: "twice", On: []operation.State{"NO_STATE"}},
			{Name: "never"},
			{Name: "joined", On: []operation.State{operation.Succeeded, operation.Failed}},
			{Name: "page@stuck-1", Alerts: []Alert{AlertStuck, AlertStuck, "LATE"}},
			{Name: "kind", Alerts: []Alert{AlertMissing, AlertUnbound}, JobKinds: []string{"*"}},
			{Name: "glob", On: []operation.State{operation.Failed}, JobKinds: []string{"[a"}},
			{On: []operation.State{operation.Failed}},
		},
	}
	_, err = New(nil, bad, Options{})
	if err == nil {
		t.Fatal("these settings were accepted")
	}
	for _, want := range []string{
		"Grace: it must be", "Interval: ", "StuckAfter: ", "AlertEvery: ", "Retention: ", "ClaimTTL: ", "ResultsKept: ",
		"MaxAttempts: it must be at least 1", "RetryFor: it must not be negative",
		"BatchStuckAfter: it must not be negative",
		"LookupMaxInterval: it must be at least the interval, and -1ns is shorter than 0s",
		"effect 9: its name must be",
		`"Bad Name": its name must be`, "its name is used twice", "lists PENDING twice",
		`"NO_STATE" is neither a state nor an alert`, "lists no state or alert",
		`"page@stuck-1": its name must be`, "lists STUCK twice",
		`"LATE" is not an alert: it must be STUCK, MISSING, DISABLED, UNBOUND or DEADLINE`,
		`"kind": UNBOUND is about no operation`, "from SUCCEEDED to FAILED", `jobKinds: "[a" is not a pattern`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}

// TestRuleNames: a name is as long as may be, and one that is missing is not used twice.
func TestRuleNames(t *testing.T) {
	t.Parallel()
	on := []operation.State{operation.Failed}
	for name, want := range map[string]bool{
		strings.Repeat("a", maxEffectName): true, strings.Repeat("a", maxEffectName+1): false, "A": false,
	} {
		if err := ValidateRules([]Rule{{Name: name, On: on}}, operation.Transitions{}); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := ValidateRules([]Rule{{On: on}, {On: on}}, operation.Transitions{}); strings.Contains(err.Error(), "twice") {
		t.Errorf("two rules without a name: %v", err)
	}
}

// TestMatches: a rule is for a state and a job kind.
func TestMatches(t *testing.T) {
	t.Parallel()
	rule := Rule{Name: "a", On: []operation.State{operation.Failed}, JobKinds: []string{"b-*"}}
	for _, test := range []struct {
		rec  operation.Record
		want bool
	}{
		{operation.Record{State: operation.Failed, Submission: operation.Submission{JobKind: "b-c"}}, true},
		{operation.Record{State: operation.Succeeded, Submission: operation.Submission{JobKind: "b-c"}}, false},
		{operation.Record{State: operation.Failed, Submission: operation.Submission{JobKind: "c"}}, false},
	} {
		if got := rule.Matches(test.rec); got != test.want {
			t.Errorf("%+v: %v", test.rec, got)
		}
	}
}

// TestOverdueAfter: three intervals, and an hour at least [R8].
func TestOverdueAfter(t *testing.T) {
	t.Parallel()
	for interval, want := range map[time.Duration]time.Duration{5 * time.Minute: time.Hour, time.Hour: 3 * time.Hour} {
		if got := (Settings{Interval: interval}).OverdueAfter(); got != want {
			t.Errorf("with passes every %v it is %v, want %v", interval, got, want)
		}
	}
}
