package main

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

// TestResolve: two ends that an operator has dealt with leave list and status, and stay in the record
// with who decided what. The same end again is no news, a further one is [M5].
func TestResolve(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a", "batches/b")
	f.endTwice("batches/a")
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	resolve := func(name, reason string) said {
		return cli(t, variables, "resolve", name, "--reason", reason, "--by", "kim")
	}
	resolve("a", " ").want(t, exitUsage, "--reason: give the reason").complaint(t)
	resolve("batches/b", "r").want(t, exitFailed, "its record has no other end", "opledger list --conflict").complaint(t)
	resolve("batches/none", "r").want(t, exitFailed, "opledger list shows those it has").complaint(t)

	s := resolve("a", "SUCCEEDED is true").want(t, exitDone)
	if !strings.HasPrefix(s.out, "the two ends of batches/a, SUCCEEDED and FAILED, resolved by kim at ") ||
		!strings.HasSuffix(s.out, ": SUCCEEDED is true\n") {
		t.Errorf("%q", s.out)
	}
	resolve("a", "another").want(t, exitDone).says(t, "already resolved by kim", "yours was not recorded")
	calm := func() {
		t.Helper()
		cli(t, variables, "list", "--conflict").want(t, exitDone).says(t, "no conflict waits for an operator\n")
		cli(t, variables, "status").want(t, exitDone).says(t, "conflicts     0\n", "nothing needs an operator")
	}
	calm()
	cli(t, variables, "show", "batches/a").want(t, exitDone).says(t, "  conflict ",
		"FAILED was reported by webhook, and not applied: SUCCEEDED stands; resolved ", " by kim: SUCCEEDED is true\n")
	var told resolvedJSON
	oneObject(t, cli(t, variables, "resolve", "a", "--reason", "x", "--by", "kim", "--json").want(t, exitDone).out, &told)
	if told.Operation != "batches/a" || told.Resolved.Why != "SUCCEEDED is true" || told.Recorded ||
		told.Stands != operation.Succeeded || told.Other != operation.Failed {
		t.Errorf("%+v", told)
	}
	f.reported("batches/a", "again", operation.Failed)
	calm()
	f.reported("batches/a", "further", operation.Cancelled)
	cli(t, variables, "list", "--conflict").want(t, exitDone).says(t, "CANCELLED")
	cli(t, variables, "show", "batches/a").want(t, exitDone).says(t, "CANCELLED was reported by webhook on ",
		"; FAILED was resolved ", " by kim: SUCCEEDED is true\n")
	cli(t, variables, "status").want(t, exitFailed, "1 operation that ended in two ways")
}
