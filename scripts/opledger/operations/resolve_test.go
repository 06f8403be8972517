package operations_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestResolve: two ends that an operator has dealt with leave list and status, and stay in the record
// with who decided what. The same end again is no news, a further one is [M5].
func TestResolve(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a", "batches/b")
	f.EndTwice("batches/a")
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	resolve := func(name, reason string) commandtest.Said {
		return commandtest.Run(t, variables, "resolve", name, "--reason", reason, "--by", "kim")
	}
	resolve("a", " ").Want(t, terminal.ExitUsage, "--reason: give the reason").Complaint(t)
	resolve("batches/b", "r").Want(t, terminal.ExitFailed, "its record has no conflict",
		"opledger list --conflict").Complaint(t)
	resolve("batches/none", "r").Want(t, terminal.ExitFailed, "opledger list shows those it has").Complaint(t)

	s := resolve("a", "SUCCEEDED is true").Want(t, terminal.ExitDone)
	if !strings.HasPrefix(s.Out, "the conflict of batches/a, SUCCEEDED and FAILED, resolved by kim at ") ||
		!strings.HasSuffix(s.Out, ": SUCCEEDED is true\n") {
		t.Errorf("%q", s.Out)
	}
	resolve("a", "another").Want(t, terminal.ExitDone).Says(t, "already resolved by kim", "yours was not recorded")
	calm := func() {
		t.Helper()
		commandtest.Run(t, variables, "list", "--conflict").Want(t, terminal.ExitDone).Says(t,
			"no conflict waits for an operator\n")
		commandtest.Run(t, variables, "status").Want(t, terminal.ExitDone).Says(t, "conflicts     0\n",
			"nothing needs an operator")
	}
	calm()
	commandtest.Run(t, variables, "show", "batches/a").Want(t, terminal.ExitDone).Says(t, "  conflict ",
		"FAILED was reported by webhook, and not applied: SUCCEEDED stands; resolved ", " by kim: SUCCEEDED is true\n")
	var told struct {
		Operation     operation.Key
		Stands, Other operation.State
		Resolved      operation.Decided
		Recorded      bool
	}
	commandtest.OneObject(t, commandtest.Run(t, variables, "resolve", "a", "--reason", "x", "--by", "kim",
		"--json").Want(t, terminal.ExitDone).Out, &told)
	if told.Operation != "batches/a" || told.Resolved.Why != "SUCCEEDED is true" || told.Recorded ||
		told.Stands != operation.Succeeded || told.Other != operation.Failed {
		t.Errorf("%+v", told)
	}
	f.Reported("batches/a", "again", operation.Failed)
	calm()
	f.Reported("batches/a", "further", operation.Cancelled)
	commandtest.Run(t, variables, "list", "--conflict").Want(t, terminal.ExitDone).Says(t, "CANCELLED")
	commandtest.Run(t, variables, "show", "batches/a").Want(t, terminal.ExitDone).Says(t,
		"CANCELLED was reported by webhook on ",
		"; FAILED was resolved ", " by kim: SUCCEEDED is true\n")
	commandtest.Run(t, variables, "status").Want(t, terminal.ExitFailed, "1 operation that ended in two ways")
}
