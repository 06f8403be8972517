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
	cli(t, variables, "show", "intents/n-1").want(t, exitFailed, "opledger intent show n-1").complaint(t)
	nowhere := newFile(t)
	for _, args := range [][]string{{"reconcile"}, {"reconcile", "batches/b"}} {
		cli(t, []string{"OPLEDGER_STORE=" + nowhere.store(), "GEMINI_API_KEY=k"}, args...).want(t, exitUnread,
			"there is no ledger in "+nowhere.path).complaint(t)
	}
	if _, err := os.Stat(nowhere.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a ledger was made: %v", err)
	}
}
