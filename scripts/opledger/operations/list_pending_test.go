package operations_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/commandtest"
)

// TestListPending: the operations that are waited for, in the order of their next look-up, and why
// [L4, R4].
func TestListPending(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	sim, variables := commandtest.FakeGemini(t, f)
	if s := commandtest.Run(t, append(variables, "OPLEDGER_GRACE=1h"), "register",
		commandtest.Batch(t, sim, "done", geminisim.StateSucceeded)).Want(t, terminal.ExitDone); s.Code != terminal.ExitDone {
		t.Fatal(s)
	}
	commandtest.Run(t, variables, "reconcile", sim.Batches()[0].Name).Want(t, terminal.ExitDone)
	if s := commandtest.Run(t, variables, "list", "--pending").Want(t,
		terminal.ExitDone); s.Out != "no operation is pending\n" {
		t.Errorf("%q", s.Out)
	}
	commandtest.Run(t, variables, "list", "--late").Want(t, terminal.ExitDone).Says(t,
		"no operation is pending for too long")
	running := commandtest.Batch(t, sim, "running", geminisim.StateRunning)
	commandtest.Run(t, variables, "register", running, "--job-kind", "nightly", "--submitted-at",
		time.Now().Add(-26*time.Hour).Format(time.RFC3339)).Want(t, terminal.ExitDone)
	commandtest.Run(t, variables, "register", "batches/gone").Want(t, terminal.ExitDone)
	commandtest.Run(t, variables, "reconcile").Want(t, terminal.ExitDone)
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Operations.RecordCondition(ctx, "batches/gone", ledger.ConditionNotFound)
		return err
	})
	commandtest.Run(t, append(variables, "OPLEDGER_GRACE=1h"), "register", "interactions/young").Want(t, terminal.ExitDone)

	s := commandtest.Run(t, variables, "list", "--pending").Want(t, terminal.ExitDone)
	at := commandtest.LocalPattern
	want := regexp.MustCompile(`^OPERATION +STATE +CORRELATION ID +JOB KIND +AGE +LOOK-UPS +NEXT LOOK-UP +WHY
(?s:.*)` + running + ` +RUNNING +- +nightly +1d02h +1 +` + at + ` +Gemini runs it`)
	if !want.MatchString(s.Out) {
		t.Errorf("%s", s.Out)
	}
	s.Says(t, "not found at Gemini since ", "young: not looked up yet")
	if lines := strings.Count(s.Out, "\n"); lines != 4 {
		t.Errorf("%d lines:\n%s", lines, s.Out)
	}
	commandtest.Run(t, variables, "list", "--pending", "--limit", "1").Want(t, terminal.ExitDone).Says(t, "more: --after ")

	// A bare id names the one operation that has it; the error says the condition [K1, R4].
	commandtest.Run(t, variables, "show", "gone").Want(t, terminal.ExitDone).Says(t, "batches/gone ", "  condition ",
		"not found at Gemini since ")
	commandtest.Run(t, variables, "reconcile", "gone").Want(t, terminal.ExitFailed,
		"looking up batches/gone at Gemini (not-found)",
		"not found at Gemini since ",
		"it is looked up again at ").Complaint(t)
	commandtest.Run(t, variables, "register", "interactions/gone").Want(t, terminal.ExitDone)
	commandtest.Run(t, variables, "reconcile", "gone").Want(t, terminal.ExitFailed, "batches/gone", "interactions/gone",
		"name batches/gone or interactions/gone").Complaint(t)
	commandtest.Run(t, variables, "show", "nowhere").Want(t, terminal.ExitFailed, "opledger list").Complaint(t)
}
