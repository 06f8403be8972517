package main

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// endTwice ends an operation, and ingests an event of another end after it.
func (f file) endTwice(key operation.Key) {
	f.t.Helper()
	f.settle(key, operation.Succeeded, operation.Result{})
	f.reported(key, "other", operation.Failed)
}

// reported ingests a delivery.
func (f file) reported(key operation.Key, id string, state operation.State) {
	f.t.Helper()
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		name, err := operation.ParseName(string(key), "")
		if err != nil {
			return err
		}
		_, err = l.Ingest(ctx, operation.Event{
			Name: name, DeliveryID: id, Source: operation.Webhook, State: state, UpdateTime: time.Now(),
		})
		return err
	})
}

// TestListConflicts: an operation that ended in two ways is found by status, list and show, which name
// both ends [M5].
func TestListConflicts(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a", "batches/b")
	cli(t, nil, "list", "--conflict", "--store", f.store()).want(t, exitDone).
		says(t, "no conflict waits for an operator\n")
	f.endTwice("batches/a")
	s := cli(t, nil, "list", "--conflict", "--store", f.store()).want(t, exitDone)
	row := regexp.MustCompile(`\nbatches/a +SUCCEEDED +\w+ +` + localPattern + ` +FAILED +webhook +` + localPattern)
	if !row.MatchString(s.out) || strings.Contains(s.out, "batches/b") {
		t.Errorf("%s", s.out)
	}
	cli(t, nil, "list", "--conflict", "--state", "FAILED", "--store", f.store()).want(t, exitDone).
		says(t, "no conflict waits for an operator\n")
	cli(t, nil, "list", "--conflict", "--dead", "--store", f.store()).want(t, exitUsage)
	cli(t, nil, "show", "batches/a", "--store", f.store()).want(t, exitDone).
		says(t, "FAILED was reported by webhook on ", "and not applied: SUCCEEDED stands")
	s = cli(t, nil, "status", "--store", f.store()).want(t, exitFailed,
		"opledger: an operator is needed: 1 operation that ended in two ways within the last week\n")
	s.says(t, "within a week, the newest ", ": batches/a\n", "opledger list --conflict\n")
	s = cli(t, nil, "status", "--json", "--store", f.store()).want(t, exitFailed)
	var o overview.Overview
	oneObject(t, s.out, &o)
	if o.Conflicts.N != 1 || o.Conflicts.Newest != "batches/a" || o.Conflicts.At.IsZero() {
		t.Errorf("%+v", o.Conflicts)
	}
}
