package quarantine_test

import (
	"context"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/commandtest"
)

// TestResolveAllQuarantined: all deliveries in quarantine that need an operator are resolved at once, or
// those that are kept for one reason [W6].
func TestResolveAllQuarantined(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		for id, reason := range map[string]string{"m1": "malformed", "m2": "malformed", "m3": "refused-by-store"} {
			if _, err := l.Quarantine.Add(ctx, ledger.Suspect{ID: id, Reason: reason, Body: []byte("{}")}); err != nil {
				return err
			}
		}
		return nil
	})
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	resolve := func(in string, args ...string) commandtest.Said {
		return commandtest.Answer(t, variables, in,
			append([]string{"quarantine", "resolve", "--reason", "r", "--by", "kim"}, args...)...)
	}
	resolve("n\n", "--unresolved").Want(t, terminal.ExitFailed, "Resolve 3 quarantined deliveries: ",
		"nothing was resolved")
	resolve("y\n", "--unresolved", "--kept-for", "malformed").
		Want(t, terminal.ExitDone, "Resolve 2 quarantined deliveries: ").
		Says(t, "the delivery m1 resolved by kim", "resolved 2 of 2\n")
	resolve("", "--unresolved", "--yes").Want(t, terminal.ExitDone).
		Says(t, "the delivery m3 resolved by kim", "resolved 1 of 1\n")
	commandtest.Run(t, variables, "quarantine", "list", "--unresolved").Want(t, terminal.ExitDone).Says(t,
		"nothing is in quarantine")
	for _, args := range [][]string{{}, {"m1", "--unresolved"}, {"--kept-for", "malformed"}} {
		resolve("", args...).Want(t, terminal.ExitUsage, "--unresolved").Complaint(t)
	}
}
