package main

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestListIntents: the intents without an operation, in the order of their next search, including
// those that were given up recently [G6].
func TestListIntents(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register()
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	if s := cli(t, variables, "intent", "list").want(t, exitDone); s.out != "no intent waits for its operation\n" {
		t.Errorf("%q", s.out)
	}
	cli(t, variables, "intent", "list", "--json").want(t, exitDone).says(t, `"intents": []`)
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		for _, id := range []string{"c-1", "c-2\x1b[2J", "bound"} {
			if _, err := l.Intend(ctx, ledger.Intention{
				Submission: operation.Submission{CorrelationID: id, JobKind: "nightly"}, Collection: operation.Batches,
			}); err != nil {
				return err
			}
		}
		_, err := l.Register(ctx, ledger.Registration{Name: operation.Name{Key: "batches/a", Resource: "batches/a"},
			Submission: operation.Submission{CorrelationID: "bound"}})
		return err
	})
	s := cli(t, variables, "intent", "list").want(t, exitDone)
	wantTame(t, s)
	if !regexp.MustCompile(`^CORRELATION ID +STATE +COLLECTION +JOB KIND +AGE +GIVEN UP AT +NEXT SEARCH
c-1 +OPEN +batches +nightly +\d+s +` + localPattern + ` +` + localPattern + `
c-2\\x1b\[2J +OPEN +batches +nightly +\d+s +` + localPattern + ` +` + localPattern + `
$`).MatchString(s.out) {
		t.Errorf("%s", s.out)
	}
	var listed struct {
		Intents []ledger.Intent
		Next    string
	}
	s = cli(t, variables, "intent", "list", "--json", "--limit", "1").want(t, exitDone)
	wantUTC(t, s.out)
	oneObject(t, s.out, &listed)
	if len(listed.Intents) != 1 || listed.Intents[0].CorrelationID != "c-1" || listed.Next == "" {
		t.Errorf("%+v", listed)
	}
	s = cli(t, variables, "intent", "list", "--json", "--after", listed.Next).want(t, exitDone)
	wantTame(t, s)
	oneObject(t, s.out, &listed)
	if len(listed.Intents) != 1 || listed.Intents[0].CorrelationID != "c-2\x1b[2J" {
		t.Errorf("%+v", listed)
	}
	cli(t, variables, "show", "batches/a").want(t, exitDone).says(t, "correlation id ", "bound")

	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		page, err := l.WaitingIntents(ctx, ledger.Cursor{}, 1)
		if err == nil {
			_, err = l.AbandonIntent(ctx, page.Items[0], time.Now(), "")
		}
		return err
	})
	s = cli(t, variables, "intent", "list").want(t, exitDone)
	if !regexp.MustCompile(
		`\nc-1 +ABANDONED +batches +nightly +\d+s +` + localPattern + ` +` + localPattern + `\nc-2`).MatchString(s.out) {
		t.Errorf("%s", s.out)
	}
}
