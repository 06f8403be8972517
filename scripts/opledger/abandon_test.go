package main

import (
	"context"
	"errors"
	"os/user"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestAbandon: an abandoned operation is no longer waited for; of two decisions the first stands,
// with its author and reason, and the lists show it [R4].
func TestAbandon(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a", "batches/b")
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ reason, begins, ends string }{
		{"submitted \x1b[31mtwice", "batches/a abandoned by ", ": submitted \\x1b[31mtwice\n"},
		{"submitted \x1b[31mtwice", "batches/a abandoned by ", ": submitted \\x1b[31mtwice\n"},
		{"another", "batches/a already abandoned by ", ": submitted \\x1b[31mtwice; yours was not recorded\n"},
	} {
		s := cli(t, variables, "abandon", "a", "--reason", c.reason).want(t, exitDone)
		if !strings.HasPrefix(s.out, c.begins+me.Username+" at ") || !strings.HasSuffix(s.out, c.ends) {
			t.Errorf("%q", s.out)
		}
	}
	cli(t, variables, "list").want(t, exitDone).says(t, "PENDING (abandoned)")
	s := cli(t, variables, "list", "--pending").want(t, exitDone).says(t, "batches/b")
	if strings.Contains(s.out, "batches/a") {
		t.Errorf("%s", s.out)
	}
	cli(t, variables, "show", "batches/a").want(t, exitDone).says(t, "  abandoned ",
		" by "+me.Username+": submitted \\x1b[31mtwice\n")
	cli(t, variables, "abandon", "batches/b", "--reason", "r", "--by", "kim").want(t, exitDone).says(t, " by kim at ")

	f.register("batches/ended")
	f.settle("batches/ended", operation.Failed, operation.Result{})
	f.settle("batches/stranger", operation.Running, operation.Result{})
	cli(t, variables, "abandon", "batches/ended", "--reason", "r").want(t, exitFailed, "has ended already",
		"FAILED").complaint(t)
	cli(t, variables, "abandon", "batches/stranger", "--reason", "r").want(t, exitFailed, "not registered").complaint(t)
	cli(t, variables, "abandon", "batches/none", "--reason", "r").want(t, exitFailed, "opledger list").complaint(t)
}

// TestWaive: a dead effect can be waived; one that may still run cannot [S2].
func TestWaive(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	f.settle("batches/a", operation.Succeeded, operation.Result{})
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	waive := []string{"waive", "batches/a", "--effect", "log", "--reason", "done by hand", "--by", "kim"}
	cli(t, variables, waive...).want(t, exitFailed, "not dead", "PENDING").complaint(t)
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		grant, err := l.Claim(ctx, "batches/a", "log")
		if err == nil {
			err = l.MarkDead(ctx, grant.Lease, errors.New("no"))
		}
		return err
	})
	for range 2 {
		cli(t, variables, waive...).want(t, exitDone).says(t, "effect log of batches/a waived by kim at ",
			": done by hand\n")
	}
	cli(t, variables, "list").want(t, exitDone).says(t, "log waived")
	cli(t, variables, "show", "batches/a").want(t, exitDone).says(t, "DEAD (waived)", "\nlog waived ",
		"by kim: done by hand\n")
	cli(t, variables, "waive", "batches/a", "--effect", "none", "--reason", "r").want(t, exitFailed,
		`has no effect "none"`, "opledger show batches/a").complaint(t)
}
