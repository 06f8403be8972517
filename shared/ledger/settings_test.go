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
		MaxAttempts: 0, RetryFor: -time.Second, LookupMaxInterval: -1, Transitions: allowed,
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
		"grace", "interval", "stuck-after", "alert-every", "retention", "claim TTL", "max attempts", "retry-for",
		"lookup-max-interval, -1ns, must not be shorter than interval", "effect 9: its name must be",
		`"Bad Name": its name must be`, "its name is used twice", "lists PENDING twice",
		`"NO_STATE" is neither a state nor an alert`, "lists no state or alert",
		`"page@stuck-1": its name must be`, "lists STUCK twice",
		`"LATE" is not an alert: it must be STUCK, MISSING, DISABLED or UNBOUND`,
		`"kind": UNBOUND is about no operation`, "from SUCCEEDED to FAILED", `jobKinds: "[a" is not a pattern`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}
