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

// TestIntentUnlisted: the commands say that a pass has read Gemini's list in vain, so that the submitter
// may start again [G6].
func TestIntentUnlisted(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Intents.Intend(ctx, ledger.Intention{
			Submission: operation.Submission{CorrelationID: "night"}, Collection: operation.Batches,
		})
		if err != nil {
			return err
		}
		page, err := l.Intents.Waiting(ctx, ledger.Cursor{}, 1)
		if err != nil {
			return err
		}
		later := time.Now().Add(time.Hour)
		_, err = l.Intents.Postpone(ctx, page.Items[0].Unlisted(time.Time{}, later), later)
		return err
	})
	s := commandtest.Run(t, nil, "intent", "show", "night", "--store", f.Store()).Want(t, terminal.ExitDone)
	want := regexp.MustCompile(`\n  may be submitted again +Gemini's list, read at ` + commandtest.LocalPattern +
		`, does not have it\n`)
	if !want.MatchString(s.Out) {
		t.Errorf("%s", s.Out)
	}
	commandtest.Run(t, nil, "intent", "list", "--store", f.Store()).Want(t, terminal.ExitDone).Says(t,
		"OPEN, may be submitted again ")
}

// TestShowIntent: the intent of a correlation id, in text and JSON [G6].
func TestShowIntent(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Intents.Intend(ctx, ledger.Intention{
			Submission: operation.Submission{CorrelationID: "night/1", JobKind: "nightly"}, Collection: operation.Batches,
		})
		if err == nil {
			_, err = l.Intents.KeepName(ctx, "night/1", operation.Name{Key: "batches/x", Resource: "projects/p/batches/x"})
		}
		return err
	})
	s := commandtest.Run(t, nil, "intent", "show", "night/1", "--store", f.Store()).Want(t, terminal.ExitDone)
	want := regexp.MustCompile(`^night/1 +OPEN
  operation +-
  bound by +-
  collection +batches
  job kind +nightly
  recorded +` + commandtest.LocalPattern + `
  renewed +-
  give up at +` + commandtest.LocalPattern + `
  given up +-
  next search +` + commandtest.LocalPattern + `
  named by a delivery +projects/p/batches/x at ` + commandtest.LocalPattern + `
  kept until +-
$`)
	if !want.MatchString(s.Out) {
		t.Errorf("%s", s.Out)
	}
	s = commandtest.Run(t, nil, "intent", "show", "night/1", "--json", "--store", f.Store()).Want(t, terminal.ExitDone)
	var intent ledger.Intent
	commandtest.OneObject(t, s.Out, &intent)
	if commandtest.WantUTC(t, s.Out); intent.State != ledger.IntentOpen || intent.CorrelationID != "night/1" {
		t.Errorf("%+v", intent)
	}
	commandtest.Run(t, nil, "intent", "show", "none", "--store", f.Store()).Want(t, terminal.ExitFailed, "no such intent",
		"opledger intent list").Complaint(t)
}
