package main

import (
	"context"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestAbandonIntent: an operator ends the waiting for an intent's operation; of two decisions the first
// stands, and the list names its author. An intent that has its operation does not wait [G6, R4].
func TestAbandonIntent(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register()
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Intend(ctx, ledger.Intention{
			Submission: operation.Submission{CorrelationID: "night 1"}, Collection: operation.Batches,
		})
		if err == nil {
			_, err = l.Register(ctx, ledger.Registration{
				Name:       operation.Name{Key: "batches/a", Resource: "batches/a"},
				Submission: operation.Submission{CorrelationID: "bound"},
			})
		}
		return err
	})
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	for _, c := range []struct{ id, reason, says string }{
		{"night 1", "it died", "intent night 1 abandoned by kim at "},
		{"night 1", "another", "intent night 1 already abandoned by kim at "},
	} {
		cli(t, variables, "intent", "abandon", c.id, "--reason", c.reason, "--by", "kim").want(t, exitDone).
			says(t, c.says, ": it died")
	}
	s := cli(t, variables, "intent", "abandon", "night 1", "--reason", "r", "--json").want(t, exitDone)
	var decided abandonedIntentJSON
	oneObject(t, s.out, &decided)
	if decided.Intent != "night 1" || decided.Recorded || decided.Abandoned.By != "kim" {
		t.Errorf("%+v", decided)
	}
	cli(t, variables, "intent", "list").want(t, exitDone).says(t, "ABANDONED by kim")
	cli(t, variables, "intent", "show", "night 1").want(t, exitDone).says(t, "  abandoned ", " by kim: it died\n")
	if s := cli(t, variables, "status"); strings.Contains(s.out, "given up") {
		t.Errorf("status asks for an operator: %s", s.out)
	}
	cli(t, variables, "intent", "abandon", "bound", "--reason", "r").want(t, exitFailed, "belongs to an operation",
		"batches/a").complaint(t)
	cli(t, variables, "intent", "abandon", "none", "--reason", "r").want(t, exitFailed,
		"opledger intent list").complaint(t)
	cli(t, variables, "intent", "abandon", "night 1").want(t, exitUsage, "--reason").complaint(t)
	cli(t, variables, "intent", "abandon", " ", "--reason", "r").want(t, exitUsage, "correlation id").complaint(t)
	cli(t, variables, "intent", "abandon", "intents/night 1", "--reason", "r").want(t, exitFailed,
		"for that of an alert leave intents/ out: 'night 1'").complaint(t)
}
