package operations_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/operations"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestShowAttempts: an effect that is not done is shown with its attempts, the time of the next,
// and its last error; a dead one with the commands that replay or waive it; in JSON, too [S2, S4].
func TestShowAttempts(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a", "batches/it's")
	for _, key := range []operation.Key{"batches/a", "batches/it's"} {
		f.Settle(key, operation.Succeeded, operation.Result{})
	}
	const at = commandtest.LocalPattern
	show := func(key string, lines ...string) {
		t.Helper()
		s := commandtest.Run(t, []string{"OPLEDGER_MAX_ATTEMPTS=2"}, "show", key, "--store", f.Store()).Want(t,
			terminal.ExitDone)
		for _, line := range lines {
			if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(s.Out) {
				t.Errorf("no line %q in\n%s", line, s.Out)
			}
		}
	}
	asJSON := func(key string) (effect operations.EffectJSON) {
		t.Helper()
		var story operations.StoryJSON
		commandtest.OneObject(t, commandtest.Run(t, nil, "show", key, "--json", "--store", f.Store()).Want(t,
			terminal.ExitDone).Out, &story)
		return story.Effects[0]
	}
	claim := func(after func(context.Context, *ledger.Ledger, ledger.Lease) error) {
		t.Helper()
		f.With(func(ctx context.Context, l *ledger.Ledger) error {
			grant, err := l.Effects.Claim(ctx, "batches/a", "log")
			if err == nil {
				err = after(ctx, l, grant.Lease)
			}
			return err
		})
	}
	show("batches/a", `log +PENDING +`+at+` +- +0 +`+at+` +0 +-`)
	var lease ledger.Lease
	claim(func(_ context.Context, _ *ledger.Ledger, granted ledger.Lease) error {
		lease = granted
		return nil
	})
	show("batches/a", `log +CLAIMED +`+at+` +- +1 +- +1 +-`, `log is being run: attempt 1; the lease ends in \d+m\d+s`)
	if e := asJSON("batches/a"); e.MaxAttempts != 10 || !e.NextAttemptAt.IsZero() || e.Commands != nil {
		t.Errorf("%+v", e)
	}
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Effects.Release(ctx, lease, errors.New("the target\x1b is down"), 2*time.Hour)
		return err
	})
	show("batches/a", `log +PENDING +`+at+` +- +1 +`+at+` +1 +the target\\x1b is down`,
		`log backs off: attempt 1, failing for \d+s, given up not before (today|tomorrow) \d\d:\d\d; the next is in 1h5\dm`,
		`  last error: the target\\x1b is down`)
	if e := asJSON("batches/a"); !e.NextAttemptAt.Equal(e.ClaimableAt) ||
		e.NextAttemptAt.Before(time.Now().Add(time.Hour)) || e.Attempts != 1 ||
		!e.NotGivenUpBefore.Equal(e.Failing.Since.Add(24*time.Hour)) {
		t.Errorf("%+v", e)
	}

	f.MarkDead("batches/it's")
	where := " --store " + f.Store()
	show("batches/it's", `log +DEAD +`+at+` +- +1 +- +1 +the target said no`, "log is dead: the target said no",
		"  run it again:  opledger replay 'batches/it'\\\\''s' --effect log"+where,
		"  or waive it:   opledger waive 'batches/it'\\\\''s' --effect log"+where+" --reason 'WHY'")
	dead := asJSON("batches/it's")
	if !dead.NotGivenUpBefore.IsZero() || dead.LastError != "the target said no" ||
		dead.Commands["replay"] != `opledger replay 'batches/it'\''s' --effect log`+where || dead.Commands["waive"] == "" {
		t.Errorf("%+v", dead)
	}
	commandtest.Run(t, nil, "waive", "batches/it's", "--effect", "log", "--reason", "r", "--store", f.Store()).Want(t,
		terminal.ExitDone)
	if s := commandtest.Run(t, nil, "show", "batches/it's", "--store", f.Store()).Want(t,
		terminal.ExitDone); strings.Contains(s.Out,
		"run it again") {
		t.Errorf("waived:\n%s", s.Out)
	}
}

// TestShowReplayed: why an effect was dead before each replay, in one block; a pause [G5, R5].
func TestShowReplayed(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	replay := func(id string) {
		t.Helper()
		f.With(func(ctx context.Context, l *ledger.Ledger) error {
			_, err := l.Effects.Replay(ctx, ledger.Message{Operation: "batches/a", Effect: "log", ID: id, By: "ops"})
			return err
		})
	}
	replay("m1")
	f.MarkDead("batches/a")
	replay("m2")
	show := func(paused string) string {
		t.Helper()
		return commandtest.Run(t, []string{"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_EFFECTS_PAUSED=" + paused}, "show",
			"batches/a").Want(t, terminal.ExitDone).Out
	}
	line := "log replayed " + commandtest.LocalPattern + " by ops; it was dead: the target said no\n"
	if s := show("false"); !regexp.MustCompile("\n\n"+line+line+"$").MatchString(s) || strings.Contains(s, "pause") {
		t.Errorf("%s", s)
	}
	if s := show("true"); !regexp.MustCompile(`\nlog +PENDING .* when the pause ends +2 +-\n`).MatchString(s) {
		t.Errorf("%s", s)
	}
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		grant, err := l.Effects.Claim(ctx, "batches/a", "log")
		if err == nil {
			_, err = l.Effects.Release(ctx, grant.Lease, errors.New("down"), time.Hour)
		}
		return err
	})
	if s := show("true"); strings.Contains(s, "when the pause ends") {
		t.Errorf("backing off:\n%s", s)
	}
}

// TestShowWithoutRecord: an alert about what is no operation can be looked at, and replayed, by the
// name that it has [R4, G5].
func TestShowWithoutRecord(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	alert := f.DeadAlert("intents/night-1")
	command := "opledger replay intents/night-1 --effect " + alert
	s := commandtest.Run(t, nil, "show", "intents/night-1", "--store", f.Store()).Want(t, terminal.ExitDone)
	s.Says(t, "intents/night-1  no record\n", "is dead: no answer", command)
	var story map[string]any
	commandtest.OneObject(t, commandtest.Run(t, nil, "show", "intents/night-1", "--json", "--store", f.Store()).Want(t,
		terminal.ExitDone).Out, &story)
	if story["record"] != nil || story["deliveries"] == nil {
		t.Errorf("%v", story)
	}
	variables := []string{"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_EFFECTS=[{name: page, on: [UNBOUND], do: log}]"}
	s = commandtest.Run(t, variables, strings.Fields(command)[1:]...).Want(t, terminal.ExitDone, `"replay":"reopened"`)
	if !strings.HasPrefix(s.Out, "intents/night-1  "+alert+"  done\n") {
		t.Errorf("%q", s.Out)
	}
	commandtest.Answer(t, []string{"OPLEDGER_STORE=" + f.Store()}, "y\n", "forget", "intents/night-1").Want(t,
		terminal.ExitDone,
		"no record; deliveries: 0; effects: "+alert+" DONE")
}

// TestWithheld: effects of an operation that ended more than the retention ago are not planned.
// register, list and show say so, with the command that runs one [L3, G5].
func TestWithheld(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Operations.Ingest(ctx, operation.Event{
			Name: operation.Name{Key: "batches/old", Resource: "batches/old"}, DeliveryID: "m1", Source: operation.Webhook,
			State: operation.Succeeded, UpdateTime: time.Now().Add(-15 * 24 * time.Hour),
		})
		return err
	})
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	const command = "opledger replay batches/old --effect "
	commandtest.Run(t, variables, "register", "batches/old").Want(t, terminal.ExitDone, "effects withheld: 1", command)
	if s := commandtest.Run(t, variables, "list").Want(t, terminal.ExitDone); !strings.Contains(s.Out, "log withheld") {
		t.Errorf("%s", s.Out)
	}
	if s := commandtest.Run(t, variables, "show", "batches/old").Want(t, terminal.ExitDone); !strings.Contains(s.Out,
		"\nlog was withheld: ") ||
		!strings.Contains(s.Out, command+"log\n") {
		t.Errorf("%s", s.Out)
	}
	commandtest.Run(t, variables, "replay", "batches/old").Want(t,
		terminal.ExitDone) // as with what was waived, only where it is named
	if n := len(f.Effects("batches/old")); n != 0 {
		t.Errorf("%d effects were planned", n)
	}
	commandtest.Run(t, variables, "replay", "batches/old", "--effect", "log").Want(t, terminal.ExitDone)
	if effect := f.Effects("batches/old")["log"]; effect.State != ledger.EffectDone {
		t.Errorf("%+v", effect)
	}
	if s := commandtest.Run(t, variables, "show", "batches/old").Want(t, terminal.ExitDone); strings.Contains(s.Out,
		"withheld") {
		t.Errorf("%s", s.Out)
	}
}
