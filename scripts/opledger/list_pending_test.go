package main

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
)

// TestListPending: the operations that are waited for, in the order of their next look-up, and why
// [L4, R4].
func TestListPending(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	sim, variables := fakeGemini(t, f)
	if s := cli(t, append(variables, "OPLEDGER_GRACE=1h"), "register",
		batch(t, sim, "done", geminisim.StateSucceeded)).want(t, exitDone); s.code != exitDone {
		t.Fatal(s)
	}
	cli(t, variables, "reconcile", sim.Batches()[0].Name).want(t, exitDone)
	if s := cli(t, variables, "list", "--pending").want(t, exitDone); s.out != "no operation is pending\n" {
		t.Errorf("%q", s.out)
	}
	running := batch(t, sim, "running", geminisim.StateRunning)
	cli(t, variables, "register", running, "--job-kind", "nightly", "--submitted-at",
		time.Now().Add(-26*time.Hour).Format(time.RFC3339)).want(t, exitDone)
	cli(t, variables, "register", "batches/gone").want(t, exitDone)
	cli(t, variables, "reconcile").want(t, exitDone)
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.NoteCondition(ctx, "batches/gone", ledger.ConditionNotFound)
		return err
	})
	cli(t, append(variables, "OPLEDGER_GRACE=1h"), "register", "interactions/young").want(t, exitDone)

	s := cli(t, variables, "list", "--pending").want(t, exitDone)
	at := localPattern
	want := regexp.MustCompile(`^OPERATION +STATE +JOB KIND +AGE +LOOK-UPS +NEXT LOOK-UP +WHY
(?s:.*)` + running + ` +RUNNING +nightly +1d02h +1 +` + at + ` +Gemini runs it`)
	if !want.MatchString(s.out) {
		t.Errorf("%s", s.out)
	}
	s.says(t, "not found at Gemini since ", "young: not looked up yet")
	if lines := strings.Count(s.out, "\n"); lines != 4 {
		t.Errorf("%d lines:\n%s", lines, s.out)
	}
	cli(t, variables, "list", "--pending", "--limit", "1").want(t, exitDone).says(t, "more: --after ")

	// A bare id names the one operation that has it; the error says the condition [K1, R4].
	cli(t, variables, "show", "gone").want(t, exitDone).says(t, "batches/gone ", "  condition ",
		"not found at Gemini since ")
	cli(t, variables, "reconcile", "gone").want(t, exitFailed, "looking up batches/gone at Gemini (not-found)",
		"not found at Gemini since ",
		"it is looked up again at ").complaint(t)
	cli(t, variables, "register", "interactions/gone").want(t, exitDone)
	cli(t, variables, "reconcile", "gone").want(t, exitFailed, "batches/gone", "interactions/gone",
		"name batches/gone or interactions/gone").complaint(t)
	cli(t, variables, "show", "nowhere").want(t, exitFailed, "opledger list").complaint(t)
}
