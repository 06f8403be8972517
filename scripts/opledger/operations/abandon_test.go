package operations_test

import (
	"context"
	"errors"
	"os/user"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestAbandon: an abandoned operation is no longer waited for; of two decisions the first stands,
// with its author and reason, and the lists show it [R4].
func TestAbandon(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a", "batches/b")
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	const goesOn = "; if Gemini goes on with it, opledger cancel batches/a has it cancelled\n"
	for _, c := range []struct{ reason, begins, ends string }{
		{"submitted \x1b[31mtwice", "batches/a abandoned by ", ": submitted \\x1b[31mtwice"},
		{"submitted \x1b[31mtwice", "batches/a abandoned by ", ": submitted \\x1b[31mtwice"},
		{"another", "batches/a already abandoned by ", ": submitted \\x1b[31mtwice; yours was not recorded"},
	} {
		s := commandtest.Run(t, variables, "abandon", "a", "--reason", c.reason).Want(t, terminal.ExitDone)
		if !strings.HasPrefix(s.Out, c.begins+me.Username+" at ") || !strings.HasSuffix(s.Out, c.ends+goesOn) {
			t.Errorf("%q", s.Out)
		}
	}
	commandtest.Run(t, variables, "list").Want(t, terminal.ExitDone).Says(t, "PENDING (abandoned)")
	s := commandtest.Run(t, variables, "list", "--pending").Want(t, terminal.ExitDone).Says(t, "batches/b")
	if strings.Contains(s.Out, "batches/a") {
		t.Errorf("%s", s.Out)
	}
	commandtest.Run(t, variables, "show", "batches/a").Want(t, terminal.ExitDone).Says(t, "  abandoned ",
		" by "+me.Username+": submitted \\x1b[31mtwice\n")
	commandtest.Run(t, variables, "abandon", "batches/b", "--reason", "r", "--by", "kim").Want(t,
		terminal.ExitDone).Says(t, " by kim at ")

	f.Register("batches/ended")
	f.Settle("batches/ended", operation.Failed, operation.Result{})
	f.Settle("batches/stranger", operation.Running, operation.Result{})
	commandtest.Run(t, variables, "abandon", "batches/ended", "--reason", "r").Want(t, terminal.ExitFailed,
		"has ended already",
		"FAILED").Complaint(t)
	commandtest.Run(t, variables, "abandon", "batches/stranger", "--reason", "r").Want(t, terminal.ExitFailed,
		"not registered").Complaint(t)
	commandtest.Run(t, variables, "abandon", "batches/none", "--reason", "r").Want(t, terminal.ExitFailed,
		"opledger list").Complaint(t)
}

// TestWaive: a dead effect can be waived; one that may still run cannot [S2].
func TestWaive(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	waive := []string{"waive", "batches/a", "--effect", "log", "--reason", "done by hand", "--by", "kim"}
	commandtest.Run(t, variables, waive...).Want(t, terminal.ExitFailed, "not dead", "PENDING").Complaint(t)
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		grant, err := l.Effects.Claim(ctx, "batches/a", "log")
		if err == nil {
			err = l.Effects.MarkDead(ctx, grant.Lease, errors.New("no"))
		}
		return err
	})
	for range 2 {
		commandtest.Run(t, variables, waive...).Want(t, terminal.ExitDone).Says(t,
			"effect log of batches/a waived by kim at ",
			": done by hand\n")
	}
	commandtest.Run(t, variables, "list").Want(t, terminal.ExitDone).Says(t, "log waived")
	commandtest.Run(t, variables, "show", "batches/a").Want(t, terminal.ExitDone).Says(t, "DEAD (waived)", "\nlog waived ",
		"by kim: done by hand\n")
	commandtest.Run(t, variables, "waive", "batches/a", "--effect", "none", "--reason", "r").Want(t, terminal.ExitFailed,
		`has no effect "none"`, "opledger show batches/a").Complaint(t)
}
