package intents_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestForgetIntent: an intent without an operation is deleted by its correlation id; another is
// deleted with its operation [G6].
func TestForgetIntent(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Intents.Intend(ctx, ledger.Intention{Submission: operation.Submission{CorrelationID: "night 1"}})
		name := operation.Name{Key: "batches/a", Resource: "batches/a"}
		_, registerErr := l.Operations.Register(ctx, ledger.Registration{
			Name: name, Submission: operation.Submission{CorrelationID: "night-2"},
		})
		return errors.Join(err, registerErr)
	})
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	s := commandtest.Answer(t, variables, "n\n", "intent", "forget", "night 1")
	s.Want(t, terminal.ExitFailed,
		"The intent night 1: OPEN; a job that was submitted with it stays unregistered. Delete it permanently? [y/N] ",
		"nothing was deleted")
	if s := commandtest.Answer(t, variables, "y\n", "intent", "forget", "night 1").Want(t,
		terminal.ExitDone); s.Out != "intent night 1 forgotten\n" {
		t.Errorf("%q", s.Out)
	}
	if s := commandtest.Answer(t, variables, "y\n", "intent", "forget", "night 1").Want(t, terminal.ExitFailed,
		"no such intent"); strings.Contains(s.Err, "[y/N]") {
		t.Errorf("it asks about what is not there: %s", s.Err)
	}
	for _, yes := range []string{"--yes", "--yes=false"} {
		commandtest.Run(t, variables, "intent", "forget", "night-2", yes).Want(t, terminal.ExitFailed,
			"belongs to an operation",
			"forget batches/a").Complaint(t)
	}
	commandtest.Answer(t, variables, "y\n", "forget", "batches/a").Want(t, terminal.ExitDone, "intent: night-2")
	commandtest.Run(t, variables, "intent", "show", "night-2").Want(t, terminal.ExitFailed, "no such intent")
}

// TestIntentPrefix: a correlation id is taken to the letter. One that begins with intents/, as alerts
// name an intent, is never another one's [G6].
func TestIntentPrefix(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	intend := func(id string) {
		f.With(func(ctx context.Context, l *ledger.Ledger) error {
			_, err := l.Intents.Intend(ctx, ledger.Intention{Submission: operation.Submission{CorrelationID: id}})
			return err
		})
	}
	intend("night")
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	for _, args := range [][]string{{"show"}, {"forget", "--yes"}, {"abandon", "--reason", "r"}} {
		commandtest.Run(t, variables, append([]string{"intent", args[0], "intents/night"}, args[1:]...)...).Want(t,
			terminal.ExitFailed,
			`no such intent of the correlation id "intents/night"; for that of an alert leave intents/ out: night`).Complaint(t)
	}
	intend("intents/night")
	commandtest.Run(t, variables, "intent", "show", "intents/night", "--json").Want(t, terminal.ExitDone).
		Says(t, `"correlationId": "intents/night"`)
	commandtest.Run(t, variables, "intent", "forget", "--yes", "intents/night").Want(t, terminal.ExitDone)
	commandtest.Run(t, variables, "intent", "show", "night", "--json").Want(t, terminal.ExitDone).Says(t,
		`"correlationId": "night"`)
}
