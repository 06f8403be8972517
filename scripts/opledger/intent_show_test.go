package main

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestIntentUnlisted: the commands say that a pass has read Gemini's list in vain, so that the submitter
// may start again [G6].
func TestIntentUnlisted(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Intend(ctx, ledger.Intention{
			Submission: operation.Submission{CorrelationID: "night"}, Collection: operation.Batches,
		})
		if err != nil {
			return err
		}
		page, err := l.WaitingIntents(ctx, ledger.Cursor{}, 1)
		if err != nil {
			return err
		}
		later := time.Now().Add(time.Hour)
		_, err = l.PostponeIntent(ctx, page.Items[0].Unlisted(time.Time{}, later), later)
		return err
	})
	s := cli(t, nil, "intent", "show", "night", "--store", f.store()).want(t, exitDone)
	want := regexp.MustCompile(`\n  may be submitted again +Gemini's list, read at ` + localPattern +
		`, does not have it\n`)
	if !want.MatchString(s.out) {
		t.Errorf("%s", s.out)
	}
	cli(t, nil, "intent", "list", "--store", f.store()).want(t, exitDone).says(t, "OPEN, may be submitted again ")
}

// TestShowIntent: the intent of a correlation id, in text and JSON [G6].
func TestShowIntent(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Intend(ctx, ledger.Intention{
			Submission: operation.Submission{CorrelationID: "night/1", JobKind: "nightly"}, Collection: operation.Batches,
		})
		if err == nil {
			_, err = l.KeepName(ctx, "night/1", operation.Name{Key: "batches/x", Resource: "projects/p/batches/x"})
		}
		return err
	})
	s := cli(t, nil, "intent", "show", "night/1", "--store", f.store()).want(t, exitDone)
	want := regexp.MustCompile(`^night/1 +OPEN
  operation +-
  bound by +-
  collection +batches
  job kind +nightly
  recorded +` + localPattern + `
  renewed +-
  give up at +` + localPattern + `
  given up +-
  next search +` + localPattern + `
  named by a delivery +projects/p/batches/x at ` + localPattern + `
  kept until +-
$`)
	if !want.MatchString(s.out) {
		t.Errorf("%s", s.out)
	}
	s = cli(t, nil, "intent", "show", "night/1", "--json", "--store", f.store()).want(t, exitDone)
	var intent ledger.Intent
	oneObject(t, s.out, &intent)
	if wantUTC(t, s.out); intent.State != ledger.IntentOpen || intent.CorrelationID != "night/1" {
		t.Errorf("%+v", intent)
	}
	cli(t, nil, "intent", "show", "none", "--store", f.store()).want(t, exitFailed, "no such intent",
		"opledger intent list").complaint(t)
}
