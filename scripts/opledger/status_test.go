package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestStatus: what there is, and exit code 1 with the reason only if something needs an operator.
func TestStatus(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a", "operations/b")
	f.settle("batches/a", operation.Succeeded, operation.Result{})
	s := cli(t, nil, "status", "--store", f.store()).want(t, exitDone)
	if !regexp.MustCompile(`^pending +1, the oldest for \d+m?s: operations/b
effects +0 run, 1 open
dead +0
quarantine +0
intents +0
conflicts +0
last pass +none has reported yet
webhook +not known

nothing needs an operator
$`).MatchString(s.out) {
		t.Errorf("%s", s.out)
	}
	f.markDead("batches/a")
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		for _, q := range []ledger.Suspect{
			{ID: "m1", Reason: "malformed", Detail: "no", Body: []byte("{")}, {ID: "m2", Reason: "unknown-type"},
		} {
			if _, err := l.Quarantine(ctx, q); err != nil {
				return err
			}
		}
		return nil
	})
	paused := []string{"OPLEDGER_EFFECTS_PAUSED=true"}
	s = cli(t, paused, "status", "--store", f.store()).want(t, exitFailed,
		"opledger: an operator is needed: 1 operation with a dead effect; 1 signed request that could not be read\n")
	s.says(t, "paused by OPLEDGER_EFFECTS_PAUSED", "quarantine  2\n")
	s.complaint(t)
	if !regexp.MustCompile(`\nEFFECTS +NEWEST +ERROR\n1 +`+localPattern+` +the target said no\n`).MatchString(s.out) ||
		!regexp.MustCompile(`\n1 operation with a dead effect +opledger list --dead\n`).MatchString(s.out) {
		t.Errorf("%s", s.out)
	}
	s = cli(t, paused, "status", "--json", "--store", f.store()).want(t, exitFailed)
	wantUTC(t, s.out)
	var o overview.Overview
	oneObject(t, s.out, &o)
	if o.Pending.N != 1 || o.Pending.Oldest != "operations/b" || o.Dead.N != 1 || len(o.Dead.Errors) != 1 ||
		len(o.Problems) != 2 || o.Unread.N != 2 || o.Unread.Malformed != 1 || !o.Paused {
		t.Errorf("%+v", o)
	}
}

// TestStatusUnread: a ledger that cannot be read is no ledger in which something needs an operator: the
// exit codes differ.
func TestStatusUnread(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	cli(t, nil, "status", "--store", f.store()).want(t, exitFailed, "1 operation with a dead effect")
	if err := os.Truncate(f.path, 1000); err != nil { // in its middle
		t.Fatal(err)
	}
	for _, path := range []string{f.path, filepath.Join(t.TempDir(), "none.db")} {
		for _, args := range [][]string{{"status"}, {"wait", "batches/a"}, {"list"}, {"show", "batches/a"}} {
			s := cli(t, nil, append(args, "--store", "sqlite:"+path)...).want(t, exitUnread, path)
			s.complaint(t)
		}
	}
}
