package quarantine_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/commandtest"
)

// quarantined is a ledger with three bodies in quarantine: one that cannot be read, one of an
// unknown type that would command a terminal, and one that this revision can read.
func quarantined(t *testing.T) (commandtest.File, []string) {
	t.Helper()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		for _, s := range []ledger.Suspect{
			{ID: "msg_1", Reason: "malformed", Detail: "no id among the fields \x1b[2J", Body: []byte("{}\x1b[2J\u009b2J")},
			{ID: "msg_2", Reason: "unknown-type", Type: "batch.\x1b[31mpaused", Detail: "d",
				Body: []byte(`{"type":"batch.paused","data":{"id":"x"}}`)},
			{ID: "msg_3", Reason: "malformed", Headers: map[string]string{"User-Agent": "Gemini\x1b[2J",
				"Webhook-Signature": "v1,x"}, Body: []byte(commandtest.Readable)},
		} {
			if _, err := l.Quarantine.Add(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	return f, []string{"OPLEDGER_STORE=" + f.Store()}
}

// TestQuarantineList: newest first, by reason, in pages [W6].
func TestQuarantineList(t *testing.T) {
	t.Parallel()
	_, variables := quarantined(t)
	s := commandtest.Run(t, variables, "quarantine", "list").Want(t, terminal.ExitDone).Says(t, "DELIVERY ",
		"no id among the fields",
		"unknown-type")
	commandtest.WantTame(t, s)
	if one, two, three := strings.Index(s.Out, "msg_1"), strings.Index(s.Out, "msg_2"), strings.Index(s.Out,
		"msg_3"); one < two || two < three {
		t.Errorf("not newest first:\n%s", s.Out)
	}
	s = commandtest.Run(t, variables, "quarantine", "list", "--reason", "unknown-type", "--json").Want(t,
		terminal.ExitDone)
	commandtest.WantTame(t, s)
	commandtest.WantUTC(t, s.Out)
	var listed struct {
		Quarantine []ledger.Quarantined
		Next       string
	}
	commandtest.OneObject(t, s.Out, &listed)
	if len(listed.Quarantine) != 1 || listed.Quarantine[0].ID != "msg_2" || !strings.Contains(listed.Quarantine[0].Type,
		"paused") {
		t.Errorf("%+v", listed)
	}
	var ids []string
	for after, page := "", 0; page < 5; page++ {
		commandtest.OneObject(t, commandtest.Run(t, variables, "quarantine", "list", "--limit", "2", "--json", "--after",
			after).Want(t,
			terminal.ExitDone).Out, &listed)
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
	if s := commandtest.Run(t, variables, "quarantine", "list", "--reason", "none").Want(t,
		terminal.ExitDone); s.Out != "nothing is in quarantine\n" {
		t.Errorf("%q", s.Out)
	}
}

// TestQuarantineShow: the reason, the kept headers and the body; the body is printed unchanged only
// with --body.
func TestQuarantineShow(t *testing.T) {
	t.Parallel()
	_, variables := quarantined(t)
	for _, id := range []string{"msg_1", "msg_2", "msg_3"} {
		commandtest.WantTame(t, commandtest.Run(t, variables, "quarantine", "show", id).Want(t, terminal.ExitDone).Says(t,
			id))
		commandtest.WantTame(t, commandtest.Run(t, variables, "quarantine", "show", id, "--json").Want(t,
			terminal.ExitDone).Says(t, id))
	}
	s := commandtest.Run(t, variables, "quarantine", "show", "msg_3").Want(t, terminal.ExitDone).Says(t,
		commandtest.Readable, "user-agent",
		"--body prints them unchanged")
	if strings.Contains(s.Out, "v1,x") {
		t.Errorf("a signature was kept:\n%s", s.Out)
	}
	if s := commandtest.Run(t, variables, "quarantine", "show", "msg_1", "--body").Want(t,
		terminal.ExitDone); s.Out != "{}\x1b[2J\u009b2J" {
		t.Errorf("%q", s.Out)
	}
	commandtest.Run(t, variables, "quarantine", "show", "msg_0").Want(t, terminal.ExitFailed,
		"opledger quarantine list").Complaint(t)
	commandtest.Run(t, variables, "quarantine", "show", "msg_1", "--json", "--body").Want(t, terminal.ExitUsage)
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
	code := root.Run(t.Context(), []string{"quarantine", "show", "msg_1", "--body"},
		terminal.Environment{Variables: variables, In: strings.NewReader(""), Out: device, Err: &said})
	if code != terminal.ExitUsage || !strings.Contains(said.String(), "a file or a pipe") {
		t.Errorf("%d, %s", code, said.String())
	}
}

// TestQuarantineRetry: a body that this revision can read is ingested once, and its effects run;
// the body stays [W4, W6].
func TestQuarantineRetry(t *testing.T) {
	t.Parallel()
	f, variables := quarantined(t)
	s := commandtest.Run(t, variables, "quarantine", "retry", "msg_1", "msg_2", "msg_3", "msg_4").Want(t,
		terminal.ExitFailed,
		"msg_1: this revision cannot read it either", "msg_2: this revision cannot read it either", "msg_4: no such delivery")
	commandtest.WantTame(t, s)
	s.Complaint(t)
	if s.Out != "msg_3: applied (advanced); batches/a is SUCCEEDED\n" {
		t.Errorf("%q", s.Out)
	}
	commandtest.WantEffect(t, f, "batches/a", ledger.EffectDone)
	if s := commandtest.Run(t, variables, "quarantine", "retry", "msg_3").Want(t,
		terminal.ExitDone); s.Out != "msg_3: duplicate; batches/a is SUCCEEDED\n" {
		t.Errorf("%q", s.Out)
	}
	commandtest.Run(t, variables, "quarantine", "show", "msg_3").Want(t, terminal.ExitDone).Says(t, "duplicate",
		commandtest.Readable)
}
