package operations_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestListConflicts: an operation that ended in two ways is found by status, list and show, which name
// both ends [M5].
func TestListConflicts(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a", "batches/b")
	commandtest.Run(t, nil, "list", "--conflict", "--store", f.Store()).Want(t, terminal.ExitDone).
		Says(t, "no conflict waits for an operator\n")
	f.EndTwice("batches/a")
	s := commandtest.Run(t, nil, "list", "--conflict", "--store", f.Store()).Want(t, terminal.ExitDone)
	row := regexp.MustCompile(`\nbatches/a +SUCCEEDED +\w+ +` + commandtest.LocalPattern + ` +FAILED +webhook +` +
		commandtest.LocalPattern)
	if !row.MatchString(s.Out) || strings.Contains(s.Out, "batches/b") {
		t.Errorf("%s", s.Out)
	}
	commandtest.Run(t, nil, "list", "--conflict", "--state", "FAILED", "--store", f.Store()).Want(t, terminal.ExitDone).
		Says(t, "no conflict waits for an operator\n")
	commandtest.Run(t, nil, "list", "--conflict", "--dead", "--store", f.Store()).Want(t, terminal.ExitUsage)
	commandtest.Run(t, nil, "show", "batches/a", "--store", f.Store()).Want(t, terminal.ExitDone).
		Says(t, "FAILED was reported by webhook on ", "and not applied: SUCCEEDED stands")
	s = commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, terminal.ExitFailed,
		"opledger: an operator is needed: 1 operation that ended in two ways within the last week\n")
	s.Says(t, "within a week, the newest ", ": batches/a\n",
		"opledger list --conflict --store "+f.Store(), "  conflicts\n")
	s = commandtest.Run(t, nil, "status", "--json", "--store", f.Store()).Want(t, terminal.ExitFailed)
	var o overview.Overview
	commandtest.OneObject(t, s.Out, &o)
	if o.Conflicts.N != 1 || o.Conflicts.Newest != "batches/a" || o.Conflicts.At.IsZero() {
		t.Errorf("%+v", o.Conflicts)
	}
}
