package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

const readable = `{"type":"batch.succeeded","version":"v1",` +
	`"timestamp":"2026-11-21T12:00:00Z","data":{"id":"batches/a"}}`

// quarantined is a ledger with three bodies in quarantine: one that cannot be read, one of an
// unknown type that would command a terminal, and one that this revision can read.
func quarantined(t *testing.T) (file, []string) {
	t.Helper()
	f := newFile(t)
	f.register("batches/a")
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		for _, s := range []ledger.Suspect{
			{ID: "msg_1", Reason: "malformed", Detail: "no id among the fields \x1b[2J", Body: []byte("{}\x1b[2J\u009b2J")},
			{ID: "msg_2", Reason: "unknown-type", Type: "batch.\x1b[31mpaused", Detail: "d",
				Body: []byte(`{"type":"batch.paused","data":{"id":"x"}}`)},
			{ID: "msg_3", Reason: "malformed", Headers: map[string]string{"User-Agent": "Gemini\x1b[2J",
				"Webhook-Signature": "v1,x"}, Body: []byte(readable)},
		} {
			if _, err := l.Quarantine(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	return f, []string{"OPLEDGER_STORE=" + f.store()}
}

// wantTame checks that nothing printed can command a terminal.
func wantTame(t *testing.T, s said) {
	t.Helper()
	if strings.ContainsAny(s.out+s.err, "\x1b\u009b\r\x07") {
		t.Errorf("%q, %q could command a terminal", s.out, s.err)
	}
}

// TestQuarantineList: newest first, by reason, in pages [W6].
func TestQuarantineList(t *testing.T) {
	t.Parallel()
	_, variables := quarantined(t)
	s := cli(t, variables, "quarantine", "list").want(t, exitDone).says(t, "DELIVERY ", "no id among the fields",
		"unknown-type")
	wantTame(t, s)
	if one, two, three := strings.Index(s.out, "msg_1"), strings.Index(s.out, "msg_2"), strings.Index(s.out,
		"msg_3"); one < two || two < three {
		t.Errorf("not newest first:\n%s", s.out)
	}
	s = cli(t, variables, "quarantine", "list", "--reason", "unknown-type", "--json").want(t, exitDone)
	wantTame(t, s)
	wantUTC(t, s.out)
	var listed struct {
		Quarantine []ledger.Quarantined
		Next       string
	}
	oneObject(t, s.out, &listed)
	if len(listed.Quarantine) != 1 || listed.Quarantine[0].ID != "msg_2" || !strings.Contains(listed.Quarantine[0].Type,
		"paused") {
		t.Errorf("%+v", listed)
	}
	var ids []string
	for after, page := "", 0; page < 5; page++ {
		oneObject(t, cli(t, variables, "quarantine", "list", "--limit", "2", "--json", "--after", after).want(t,
			exitDone).out, &listed)
		for _, q := range listed.Quarantine {
			ids = append(ids, q.ID)
		}
		if after = listed.Next; after == "" {
			break
		}
	}
	if got := fmt.Sprint(ids); got != "[msg_3 msg_2 msg_1]" {
		t.Errorf("the pages are %v", got)
	}
	if s := cli(t, variables, "quarantine", "list", "--reason", "none").want(t,
		exitDone); s.out != "nothing is in quarantine\n" {
		t.Errorf("%q", s.out)
	}
}

// TestQuarantineShow: the reason, the kept headers and the body; the body is printed unchanged only
// with --body.
func TestQuarantineShow(t *testing.T) {
	t.Parallel()
	_, variables := quarantined(t)
	for _, id := range []string{"msg_1", "msg_2", "msg_3"} {
		wantTame(t, cli(t, variables, "quarantine", "show", id).want(t, exitDone).says(t, id))
		wantTame(t, cli(t, variables, "quarantine", "show", id, "--json").want(t, exitDone).says(t, id))
	}
	s := cli(t, variables, "quarantine", "show", "msg_3").want(t, exitDone).says(t, readable, "user-agent",
		"--body prints them unchanged")
	if strings.Contains(s.out, "v1,x") {
		t.Errorf("a signature was kept:\n%s", s.out)
	}
	if s := cli(t, variables, "quarantine", "show", "msg_1", "--body").want(t, exitDone); s.out != "{}\x1b[2J\u009b2J" {
		t.Errorf("%q", s.out)
	}
	cli(t, variables, "quarantine", "show", "msg_0").want(t, exitFailed, "opledger quarantine list").complaint(t)
	cli(t, variables, "quarantine", "show", "msg_1", "--json", "--body").want(t, exitUsage)
}

// TestQuarantineBodyOnATerminal: the bytes of a sender are never written to a device.
func TestQuarantineBodyOnATerminal(t *testing.T) {
	t.Parallel()
	_, variables := quarantined(t)
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = device.Close() }()
	var said strings.Builder
	code := run(t.Context(), []string{"quarantine", "show", "msg_1", "--body"},
		environment{variables: variables, in: strings.NewReader(""), out: device, err: &said})
	if code != exitUsage || !strings.Contains(said.String(), "a file or a pipe") {
		t.Errorf("%d, %s", code, said.String())
	}
}

// TestQuarantineRetry: a body that this revision can read is ingested once, and its effects run;
// the body stays [W4, W6].
func TestQuarantineRetry(t *testing.T) {
	t.Parallel()
	f, variables := quarantined(t)
	s := cli(t, variables, "quarantine", "retry", "msg_1", "msg_2", "msg_3", "msg_4").want(t, exitFailed,
		"msg_1: this revision cannot read it either", "msg_2: this revision cannot read it either", "msg_4: no such delivery")
	wantTame(t, s)
	s.complaint(t)
	if s.out != "msg_3: applied (advanced); batches/a is SUCCEEDED\n" {
		t.Errorf("%q", s.out)
	}
	wantEffect(t, f, "batches/a", ledger.EffectDone)
	if s := cli(t, variables, "quarantine", "retry", "msg_3").want(t,
		exitDone); s.out != "msg_3: duplicate; batches/a is SUCCEEDED\n" {
		t.Errorf("%q", s.out)
	}
	cli(t, variables, "quarantine", "show", "msg_3").want(t, exitDone).says(t, "duplicate", readable)
}
