package operations_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/operations"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestWait: it ends when the operation is settled and its effects are at their end, says so in one
// line, and fails where an effect is dead. On a terminal it says what it waits for.
func TestWait(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a", "batches/b")
	steps := []func(){
		func() { f.Settle("batches/a", operation.Succeeded, operation.Result{}) },
		func() {
			f.With(func(ctx context.Context, l *ledger.Ledger) error {
				grant, err := l.Effects.Claim(ctx, "batches/a", "log")
				if err == nil {
					err = l.Effects.Finish(ctx, grant.Lease)
				}
				return err
			})
		},
	}
	s := commandtest.OnScreen(t, 80, func(_ context.Context, how time.Duration) error {
		if how != operations.WaitEvery || len(steps) == 0 {
			t.Fatalf("it pauses for %v, with %d steps left", how, len(steps))
		}
		steps[0]()
		steps = steps[1:]
		return nil
	}, "wait", "a", "--store", f.Store()).Want(t, terminal.ExitDone, "\rPENDING; effects: -",
		"\rSUCCEEDED; effects: log open")
	if s.Out != "batches/a  SUCCEEDED  log done\n" || len(steps) != 0 {
		t.Errorf("%q, with %d steps left", s.Out, len(steps))
	}
	f.Settle("batches/b", operation.Succeeded, operation.Result{})
	f.MarkDead("batches/b")
	s = commandtest.Run(t, nil, "wait", "batches/b", "--store", f.Store()).Want(t, terminal.ExitFailed,
		"log is dead; see opledger show batches/b")
	if s.Complaint(t); !strings.Contains(s.Out, "log dead") {
		t.Errorf("%q", s.Out)
	}
	var rec operation.Record
	commandtest.OneObject(t, commandtest.Run(t, nil, "wait", "a", "--json", "--store", f.Store()).Want(t,
		terminal.ExitDone).Out, &rec)
	if rec.State != operation.Succeeded {
		t.Errorf("%+v", rec)
	}
}

// TestWaitEnds: after --timeout it says in what state the operation is; an abandoned or an unknown
// one is not waited for.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	commandtest.Run(t, nil, "wait", "a", "--timeout", "1ms", "--store", f.Store()).Want(t, terminal.ExitFailed,
		"batches/a").Complaint(t)
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Operations.Abandon(ctx, "batches/a", ledger.Decision{By: "ops", Why: "gone"})
		return err
	})
	commandtest.Run(t, nil, "wait", "a", "--store", f.Store()).Want(t, terminal.ExitFailed, "was abandoned",
		"by ops: gone").Complaint(t)
	commandtest.Run(t, nil, "wait", "batches/none", "--store", f.Store()).Want(t, terminal.ExitFailed,
		"opledger list").Complaint(t)
}
