package intents_test

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestListIntents: the intents without an operation, in the order of their next search, including
// those that were given up recently [G6].
func TestListIntents(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register()
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	if s := commandtest.Run(t, variables, "intent", "list").Want(t,
		terminal.ExitDone); s.Out != "no intent waits for its operation\n" {
		t.Errorf("%q", s.Out)
	}
	commandtest.Run(t, variables, "intent", "list", "--json").Want(t, terminal.ExitDone).Says(t, `"intents": []`)
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		for _, id := range []string{"c-1", "c-2\x1b[2J", "bound"} {
			if _, err := l.Intents.Intend(ctx, ledger.Intention{
				Submission: operation.Submission{CorrelationID: id, JobKind: "nightly"}, Collection: operation.Batches,
			}); err != nil {
				return err
			}
		}
		_, err := l.Operations.Register(ctx,
			ledger.Registration{Name: operation.Name{Key: "batches/a", Resource: "batches/a"},
				Submission: operation.Submission{CorrelationID: "bound"}})
		return err
	})
	s := commandtest.Run(t, variables, "intent", "list").Want(t, terminal.ExitDone)
	commandtest.WantTame(t, s)
	if !regexp.MustCompile(`^CORRELATION ID +STATE +COLLECTION +JOB KIND +AGE +GIVEN UP AT +NEXT SEARCH
c-1 +OPEN +batches +nightly +\d+s +` + commandtest.LocalPattern + ` +` + commandtest.LocalPattern + `
c-2\\x1b\[2J +OPEN +batches +nightly +\d+s +` + commandtest.LocalPattern + ` +` + commandtest.LocalPattern + `
$`).MatchString(s.Out) {
		t.Errorf("%s", s.Out)
	}
	var listed struct {
		Intents []ledger.Intent
		Next    string
	}
	s = commandtest.Run(t, variables, "intent", "list", "--json", "--limit", "1").Want(t, terminal.ExitDone)
	commandtest.WantUTC(t, s.Out)
	commandtest.OneObject(t, s.Out, &listed)
	if len(listed.Intents) != 1 || listed.Intents[0].CorrelationID != "c-1" || listed.Next == "" {
		t.Errorf("%+v", listed)
	}
	s = commandtest.Run(t, variables, "intent", "list", "--json", "--after", listed.Next).Want(t, terminal.ExitDone)
	commandtest.WantTame(t, s)
	commandtest.OneObject(t, s.Out, &listed)
	if len(listed.Intents) != 1 || listed.Intents[0].CorrelationID != "c-2\x1b[2J" {
		t.Errorf("%+v", listed)
	}
	commandtest.Run(t, variables, "show", "batches/a").Want(t, terminal.ExitDone).Says(t, "correlation id ", "bound")

	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		page, err := l.Intents.Waiting(ctx, ledger.Cursor{}, 1)
		if err == nil {
			_, err = l.Intents.Abandon(ctx, page.Items[0], time.Now(), "")
		}
		return err
	})
	s = commandtest.Run(t, variables, "intent", "list").Want(t, terminal.ExitDone)
	if !regexp.MustCompile(
		`\nc-1 +GIVEN UP +batches +nightly +\d+s +` + commandtest.LocalPattern + ` +` + commandtest.LocalPattern +
			`\nc-2`).MatchString(s.Out) {
		t.Errorf("%s", s.Out)
	}
}
