package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestWait: it ends when the operation is settled and its effects are at their end, says so in one
// line, and fails where an effect is dead. On a terminal it says what it waits for.
func TestWait(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a", "batches/b")
	steps := []func(){
		func() { f.settle("batches/a", operation.Succeeded, operation.Result{}) },
		func() {
			f.with(func(ctx context.Context, l *ledger.Ledger) error {
				grant, err := l.Claim(ctx, "batches/a", "log")
				if err == nil {
					err = l.Finish(ctx, grant.Lease)
				}
				return err
			})
		},
	}
	s := onScreen(t, 80, func(_ context.Context, how time.Duration) error {
		if how != waitEvery || len(steps) == 0 {
			t.Fatalf("it pauses for %v, with %d steps left", how, len(steps))
		}
		steps[0]()
		steps = steps[1:]
		return nil
	}, "wait", "a", "--store", f.store()).want(t, exitDone, "\rPENDING; effects: -", "\rSUCCEEDED; effects: log open")
	if s.out != "batches/a  SUCCEEDED  log done\n" || len(steps) != 0 {
		t.Errorf("%q, with %d steps left", s.out, len(steps))
	}
	f.settle("batches/b", operation.Succeeded, operation.Result{})
	f.markDead("batches/b")
	s = cli(t, nil, "wait", "batches/b", "--store", f.store()).want(t, exitFailed,
		"log is dead; see opledger show batches/b")
	if s.complaint(t); !strings.Contains(s.out, "log dead") {
		t.Errorf("%q", s.out)
	}
	var rec operation.Record
	oneObject(t, cli(t, nil, "wait", "a", "--json", "--store", f.store()).want(t, exitDone).out, &rec)
	if rec.State != operation.Succeeded {
		t.Errorf("%+v", rec)
	}
}

// TestWaitEnds: after --timeout it says in what state the operation is; an abandoned or an unknown
// one is not waited for.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	cli(t, nil, "wait", "a", "--timeout", "1ms", "--store", f.store()).want(t, exitFailed, "batches/a").complaint(t)
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Abandon(ctx, "batches/a", ledger.Abandonment{By: "ops", Why: "gone"})
		return err
	})
	cli(t, nil, "wait", "a", "--store", f.store()).want(t, exitFailed, "was abandoned", "by ops: gone").complaint(t)
	cli(t, nil, "wait", "batches/none", "--store", f.store()).want(t, exitFailed, "opledger list").complaint(t)
}
