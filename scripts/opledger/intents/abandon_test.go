package intents_test

import (
	"context"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestAbandonIntent: an operator ends the waiting for an intent's operation; of two decisions the first
// stands, and the list names its author. An intent that has its operation does not wait [G6, R4].
func TestAbandonIntent(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register()
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Intents.Intend(ctx, ledger.Intention{
			Submission: operation.Submission{CorrelationID: "night 1"}, Collection: operation.Batches,
		})
		if err == nil {
			_, err = l.Operations.Register(ctx, ledger.Registration{
				Name:       operation.Name{Key: "batches/a", Resource: "batches/a"},
				Submission: operation.Submission{CorrelationID: "bound"},
			})
		}
		return err
	})
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	for _, c := range []struct{ id, reason, says string }{
		{"night 1", "it died", "intent night 1 abandoned by kim at "},
		{"night 1", "another", "intent night 1 already abandoned by kim at "},
	} {
		commandtest.Run(t, variables, "intent", "abandon", c.id, "--reason", c.reason, "--by", "kim").Want(t,
			terminal.ExitDone).
			Says(t, c.says, ": it died")
	}
	s := commandtest.Run(t, variables, "intent", "abandon", "night 1", "--reason", "r", "--json").Want(t,
		terminal.ExitDone)
	var decided struct {
		Intent    string
		Abandoned operation.Decided
		Recorded  bool
	}
	commandtest.OneObject(t, s.Out, &decided)
	if decided.Intent != "night 1" || decided.Recorded || decided.Abandoned.By != "kim" {
		t.Errorf("%+v", decided)
	}
	commandtest.Run(t, variables, "intent", "list").Want(t, terminal.ExitDone).Says(t, "ABANDONED by kim")
	commandtest.Run(t, variables, "intent", "show", "night 1").Want(t, terminal.ExitDone).Says(t, "  abandoned ",
		" by kim: it died\n")
	if s := commandtest.Run(t, variables, "status"); strings.Contains(s.Out, "given up") ||
		!strings.Contains(s.Out, "1: its operation is not known yet, 1 abandoned\n") {
		t.Errorf("status asks for an operator: %s", s.Out)
	}
	commandtest.Run(t, variables, "intent", "abandon", "bound", "--reason", "r").Want(t, terminal.ExitFailed,
		"belongs to an operation",
		"batches/a").Complaint(t)
	commandtest.Run(t, variables, "intent", "abandon", "none", "--reason", "r").Want(t, terminal.ExitFailed,
		"opledger intent list").Complaint(t)
	commandtest.Run(t, variables, "intent", "abandon", "night 1").Want(t, terminal.ExitUsage, "--reason").Complaint(t)
	commandtest.Run(t, variables, "intent", "abandon", " ", "--reason", "r").Want(t, terminal.ExitUsage,
		"correlation id").Complaint(t)
	commandtest.Run(t, variables, "intent", "abandon", "intents/night 1", "--reason", "r").Want(t, terminal.ExitFailed,
		"for that of an alert leave intents/ out: 'night 1'").Complaint(t)
}
