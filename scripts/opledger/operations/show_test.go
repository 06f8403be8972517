package operations_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestShowTable: one operation's story, by its name in any form [K1].
func TestShowTable(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/Abc-1")
	f.Settle("batches/Abc-1", operation.Failed, operation.Result{
		ErrorCode: "INTERNAL", ErrorMessage: "it broke\n\x1b[31mred",
	})
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		grant, err := l.Effects.Claim(ctx, "batches/Abc-1", "log")
		if err == nil {
			err = l.Effects.Finish(ctx, grant.Lease)
		}
		return err
	})
	at := commandtest.LocalPattern
	want := regexp.MustCompile(`^batches/Abc-1 +FAILED
  name +batches/Abc-1
  job kind +test
  submitted +` + at + `
  settled +` + at + ` by webhook
  look-ups +0
  next look-up +-
  output +-
  error +INTERNAL it broke\\n\\x1b\[31mred
  kept until +` + at + `

` + at + ` +operation +submitted
` + at + ` +\+\d+m?s +deliveries +webhook batch.failed FAILED: applied \([a-z-]+\)
` + at + ` +\+\d+m?s +operation +settled FAILED by webhook
` + at + ` +\+\d+m?s +log +planned
` + at + ` +\+\d+m?s +log +attempt, done after \d+m?s
` + at + ` +\+14d00h +operation +the record expires

RECEIVED +SOURCE +TYPE +STATE +DECISION +REASON +DELIVERY
` + at + ` +webhook +batch.failed +FAILED +applied +[a-z-]+ +msg_Abc-1

EFFECT +STATE +PLANNED +DONE +ATTEMPTS +NEXT ATTEMPT +FENCE +LAST ERROR
log +DONE +` + at + ` +` + at + ` +1 +- +1 +-
$`)
	for _, name := range []string{
		"batches/Abc-1", " batches/Abc-1/ ", "BATCHES/Abc-1", "projects/p/locations/us/batches/Abc-1",
		"https://generativelanguage.googleapis.com/v1beta/batches/Abc-1",
	} {
		if s := commandtest.Run(t, nil, "show", name, "--store", f.Store()).Want(t,
			terminal.ExitDone); !want.MatchString(s.Out) {
			t.Errorf("show %q:\n%q", name, s.Out)
		}
	}
}

// TestShowJSON: times in UTC, and what is not there is an empty list.
func TestShowJSON(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	s := commandtest.Run(t, nil, "show", "batches/a", "--json", "--store", f.Store()).Want(t, terminal.ExitDone)
	commandtest.WantUTC(t, s.Out)
	if !strings.Contains(s.Out, `"deliveries": []`) || !strings.Contains(s.Out, `"effects": []`) {
		t.Errorf("%s", s.Out)
	}
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	s = commandtest.Run(t, nil, "show", "batches/a", "--json", "--store", f.Store()).Want(t, terminal.ExitDone)
	commandtest.WantUTC(t, s.Out)
	var story ledger.Story
	commandtest.OneObject(t, s.Out, &story)
	if story.Record.Key != "batches/a" || len(story.Deliveries) != 1 || len(story.Effects) != 1 ||
		story.Effects[0].State != ledger.EffectPending {
		t.Errorf("%+v", story)
	}
}

// TestShowPending: what has not happened yet is a dash.
func TestShowPending(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	s := commandtest.Run(t, nil, "show", "batches/a", "--store", f.Store()).Want(t, terminal.ExitDone)
	for _, line := range []string{`  settled +-\n`, `  kept until +-\n`, `  next look-up +` + commandtest.LocalPattern +
		`\n`} {
		if !regexp.MustCompile(line).MatchString(s.Out) {
			t.Errorf("no line %q in\n%s", line, s.Out)
		}
	}
}

// TestUnknownName: an operation that the ledger does not have is a failure that says where to look.
func TestUnknownName(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	variables := []string{"OPLEDGER_STORE=" + f.Store(), "GEMINI_API_KEY=k"}
	for _, command := range []string{"show", "reconcile"} {
		s := commandtest.Run(t, variables, command, "batches/b").Want(t, terminal.ExitFailed, "batches/b",
			"no such operation", "opledger list")
		if s.Complaint(t); s.Out != "" {
			t.Errorf("stdout %q", s.Out)
		}
	}
	commandtest.Run(t, variables, "show", "intents/n-1").Want(t, terminal.ExitFailed,
		"opledger intent show n-1").Complaint(t)
	nowhere := commandtest.NewFile(t)
	for _, args := range [][]string{{"reconcile"}, {"reconcile", "batches/b"}} {
		commandtest.Run(t, []string{"OPLEDGER_STORE=" + nowhere.Store(), "GEMINI_API_KEY=k"}, args...).Want(t,
			terminal.ExitUnread,
			"there is no ledger in "+nowhere.Path).Complaint(t)
	}
	if _, err := os.Stat(nowhere.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a ledger was made: %v", err)
	}
}
