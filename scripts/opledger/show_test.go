package main

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestShowTable: one operation's story, by its name in any form [K1].
func TestShowTable(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/Abc-1")
	f.settle("batches/Abc-1", operation.Failed, operation.Result{
		ErrorCode: "INTERNAL", ErrorMessage: "it broke\n\x1b[31mred",
	})
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		grant, err := l.Claim(ctx, "batches/Abc-1", "log")
		if err == nil {
			err = l.Finish(ctx, grant.Lease)
		}
		return err
	})
	at := localPattern
	want := regexp.MustCompile(`^batches/Abc-1 +FAILED
  name +batches/Abc-1
  job kind +test
  submitted +` + at + `
  settled +` + at + ` by webhook
  look-ups +0
  next look-up +-
  correlation id +-
  output +-
  error +INTERNAL it broke  \[31mred
  metadata +-
  kept until +` + at + `

RECEIVED +SOURCE +TYPE +STATE +DECISION +REASON +DELIVERY
` + at + ` +webhook +batch.failed +FAILED +applied +[a-z-]+ +msg_Abc-1

EFFECT +STATE +PLANNED +DONE +ATTEMPTS +NEXT ATTEMPT +FENCE +LAST ERROR
log +DONE +` + at + ` +` + at + ` +1 +- +1 +-
$`)
	for _, name := range []string{
		"batches/Abc-1", " batches/Abc-1/ ", "BATCHES/Abc-1", "projects/p/locations/us/batches/Abc-1",
		"https://generativelanguage.googleapis.com/v1beta/batches/Abc-1",
	} {
		if s := cli(t, nil, "show", name, "--store", f.store()).want(t, exitDone); !want.MatchString(s.out) {
			t.Errorf("show %q:\n%q", name, s.out)
		}
	}
}

// TestShowJSON: times in UTC, and what is not there is an empty list.
func TestShowJSON(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	s := cli(t, nil, "show", "batches/a", "--json", "--store", f.store()).want(t, exitDone)
	wantUTC(t, s.out)
	if !strings.Contains(s.out, `"deliveries": []`) || !strings.Contains(s.out, `"effects": []`) {
		t.Errorf("%s", s.out)
	}
	f.settle("batches/a", operation.Succeeded, operation.Result{})
	s = cli(t, nil, "show", "batches/a", "--json", "--store", f.store()).want(t, exitDone)
	wantUTC(t, s.out)
	var story ledger.Story
	oneObject(t, s.out, &story)
	if story.Record.Key != "batches/a" || len(story.Deliveries) != 1 || len(story.Effects) != 1 ||
		story.Effects[0].State != ledger.EffectPending {
		t.Errorf("%+v", story)
	}
}

// TestShowItems: how far an effect per item has come, in words and in JSON [K4], and who asked for
// it again [G5].
func TestShowItems(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	f.settle("batches/a", operation.Succeeded, operation.Result{})
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		grant, err := l.Claim(ctx, "batches/a", "log")
		if err != nil {
			return err
		}
		_, err = l.RecordItems(ctx, grant.Lease, ledger.ItemProgress{Total: 5}, []ledger.ItemOutcome{
			{Index: 0, Key: "one"}, {Index: 1, Key: "two"}, {Index: 2, Key: "bad", Err: errors.New("no"), Permanent: true},
			{Index: 3, Key: "busy", Err: errors.New("later")},
		})
		if err != nil {
			return err
		}
		return l.MarkDead(ctx, grant.Lease, errors.New("results lost"))
	})
	s := cli(t, nil, "show", "batches/a", "--store", f.store()).want(t, exitDone)
	if !strings.Contains(s.out, "\nlog items: 2 done, 1 failed, of 5; 1 are tried again\n") ||
		!regexp.MustCompile(
			`\n  bad, item 2, failed after 1 attempt: no; its response is not kept; Gemini has it until about `+localPattern+
				`\n`).MatchString(s.out) {
		t.Errorf("%q", s.out)
	}
	var told struct {
		Effects []struct{ FailedItems []ledger.Item }
	}
	oneObject(t, cli(t, nil, "show", "batches/a", "--json", "--store", f.store()).want(t, exitDone).out, &told)
	if len(told.Effects) != 1 || len(told.Effects[0].FailedItems) != 1 || told.Effects[0].FailedItems[0].Key != "bad" {
		t.Errorf("%+v", told)
	}
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Replay(ctx, ledger.Message{Operation: "batches/a", Effect: "log", By: "ops\x1b", ID: "m1"})
		return err
	})
	s = cli(t, nil, "show", "batches/a", "--store", f.store()).want(t, exitDone)
	if !strings.Contains(s.out, "\nlog items: 2 done, 0 failed, of 5; 2 are tried again\n") ||
		!regexp.MustCompile(`\nlog replayed `+localPattern+` by ops *; it was dead: results lost\n`).MatchString(s.out) {
		t.Errorf("%q", s.out)
	}
	var story ledger.Story
	oneObject(t, cli(t, nil, "show", "batches/a", "--json", "--store", f.store()).want(t, exitDone).out, &story)
	want := operation.Progress{Done: 2, Total: 5}
	if story.Record.Progress["log"] != want || len(story.Effects) != 1 || story.Effects[0].Progress.Done != 2 ||
		story.Effects[0].Replays[0].By == "" {
		t.Errorf("%+v", story)
	}
}

// TestShowPending: what has not happened yet is a dash.
func TestShowPending(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	s := cli(t, nil, "show", "batches/a", "--store", f.store()).want(t, exitDone)
	for _, line := range []string{`  settled +-\n`, `  kept until +-\n`, `  next look-up +` + localPattern + `\n`} {
		if !regexp.MustCompile(line).MatchString(s.out) {
			t.Errorf("no line %q in\n%s", line, s.out)
		}
	}
}

// TestUnknownName: an operation that the ledger does not have is a failure that says where to look.
func TestUnknownName(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	variables := []string{"OPLEDGER_STORE=" + f.store(), "GEMINI_API_KEY=k"}
	for _, command := range []string{"show", "reconcile"} {
		s := cli(t, variables, command, "batches/b").want(t, exitFailed, "batches/b", "no such operation", "opledger list")
		if s.complaint(t); s.out != "" {
			t.Errorf("stdout %q", s.out)
		}
	}
	cli(t, variables, "show", "intents/n-1").want(t, exitFailed, "opledger show --intent n-1").complaint(t)
	nowhere := newFile(t)
	for _, args := range [][]string{{"reconcile"}, {"reconcile", "batches/b"}} {
		cli(t, []string{"OPLEDGER_STORE=" + nowhere.store(), "GEMINI_API_KEY=k"}, args...).want(t, exitFailed,
			"there is no ledger in "+nowhere.path).complaint(t)
	}
	if _, err := os.Stat(nowhere.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a ledger was made: %v", err)
	}
}
