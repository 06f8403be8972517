package operations_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestShowItems: how far an effect per item has come, in words and in JSON [K4], and who asked for
// it again [G5].
func TestShowItems(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		grant, err := l.Effects.Claim(ctx, "batches/a", "log")
		if err != nil {
			return err
		}
		_, err = l.Items.Record(ctx, grant.Lease, ledger.ItemProgress{Total: 5}, []ledger.ItemOutcome{
			{Index: 0, Key: "one"}, {Index: 1, Key: "two"}, {Index: 2, Key: "bad", Err: errors.New("no"), Permanent: true},
			{Index: 3, Key: "busy", Err: errors.New("later")},
		})
		if err != nil {
			return err
		}
		return l.Effects.MarkDead(ctx, grant.Lease, errors.New("results lost"))
	})
	s := commandtest.Run(t, nil, "show", "batches/a", "--store", f.Store()).Want(t, terminal.ExitDone)
	if !strings.Contains(s.Out, "\nlog items: 2 done, 1 failed, of 5; 1 are tried again\n") ||
		!regexp.MustCompile(
			`\n  bad, item 2, failed after 1 attempt: no; its response is not kept; Gemini has it until about `+
				commandtest.LocalPattern+
				`\n`).MatchString(s.Out) {
		t.Errorf("%q", s.Out)
	}
	var told struct {
		Effects []struct{ FailedItems []ledger.Item }
	}
	commandtest.OneObject(t, commandtest.Run(t, nil, "show", "batches/a", "--json", "--store", f.Store()).Want(t,
		terminal.ExitDone).Out, &told)
	if len(told.Effects) != 1 || len(told.Effects[0].FailedItems) != 1 || told.Effects[0].FailedItems[0].Key != "bad" {
		t.Errorf("%+v", told)
	}
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Effects.Replay(ctx, ledger.Message{Operation: "batches/a", Effect: "log", By: "ops\x1b", ID: "m1"})
		return err
	})
	s = commandtest.Run(t, nil, "show", "batches/a", "--store", f.Store()).Want(t, terminal.ExitDone)
	if !strings.Contains(s.Out, "\nlog items: 2 done, 0 failed, of 5; 2 are tried again\n") ||
		!regexp.MustCompile(`\nlog replayed `+commandtest.LocalPattern+
			` by ops\\x1b; it was dead: results lost\n`).MatchString(s.Out) {
		t.Errorf("%q", s.Out)
	}
	var story ledger.Story
	commandtest.OneObject(t, commandtest.Run(t, nil, "show", "batches/a", "--json", "--store", f.Store()).Want(t,
		terminal.ExitDone).Out, &story)
	want := operation.Progress{Done: 2, Total: 5}
	if story.Record.Progress["log"] != want || len(story.Effects) != 1 || story.Effects[0].Progress.Done != 2 ||
		story.Effects[0].Replays[0].By == "" {
		t.Errorf("%+v", story)
	}
}
