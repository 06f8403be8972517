package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestForgetIntent: an intent without an operation is deleted by its correlation id; another is
// deleted with its operation [G6].
func TestForgetIntent(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Intend(ctx, ledger.Intention{Submission: operation.Submission{CorrelationID: "night 1"}})
		name := operation.Name{Key: "batches/a", Resource: "batches/a"}
		_, registerErr := l.Register(ctx, ledger.Registration{
			Name: name, Submission: operation.Submission{CorrelationID: "night-2"},
		})
		return errors.Join(err, registerErr)
	})
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	s := answer(t, variables, "n\n", "intent", "forget", "night 1")
	s.want(t, exitFailed,
		"The intent night 1: OPEN; a job that was submitted with it stays unregistered. Delete it permanently? [y/N] ",
		"nothing was deleted")
	if s := answer(t, variables, "y\n", "intent", "forget", "night 1").want(t,
		exitDone); s.out != "intent night 1 forgotten\n" {
		t.Errorf("%q", s.out)
	}
	if s := answer(t, variables, "y\n", "intent", "forget", "night 1").want(t, exitFailed,
		"no such intent"); strings.Contains(s.err, "[y/N]") {
		t.Errorf("it asks about what is not there: %s", s.err)
	}
	for _, yes := range []string{"--yes", "--yes=false"} {
		cli(t, variables, "intent", "forget", "night-2", yes).want(t, exitFailed, "belongs to an operation",
			"forget batches/a").complaint(t)
	}
	answer(t, variables, "y\n", "forget", "batches/a").want(t, exitDone, "intent: night-2")
	cli(t, variables, "intent", "show", "night-2").want(t, exitFailed, "no such intent")
}

// TestIntentPrefix: a correlation id is taken to the letter. One that begins with intents/, as alerts
// name an intent, is never another one's [G6].
func TestIntentPrefix(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	intend := func(id string) {
		f.with(func(ctx context.Context, l *ledger.Ledger) error {
			_, err := l.Intend(ctx, ledger.Intention{Submission: operation.Submission{CorrelationID: id}})
			return err
		})
	}
	intend("night")
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	for _, args := range [][]string{{"show"}, {"forget", "--yes"}, {"abandon", "--reason", "r"}} {
		cli(t, variables, append([]string{"intent", args[0], "intents/night"}, args[1:]...)...).want(t, exitFailed,
			`no such intent of the correlation id "intents/night"; for that of an alert leave intents/ out: night`).complaint(t)
	}
	intend("intents/night")
	cli(t, variables, "intent", "show", "intents/night", "--json").want(t, exitDone).
		says(t, `"correlationId": "intents/night"`)
	cli(t, variables, "intent", "forget", "--yes", "intents/night").want(t, exitDone)
	cli(t, variables, "intent", "show", "night", "--json").want(t, exitDone).says(t, `"correlationId": "night"`)
}
