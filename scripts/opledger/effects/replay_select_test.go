package effects_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/effects"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestReplayByFilter: it prints how many effects, asks, and accepts only a yes; --dry-run lists
// them and does nothing.
func TestReplayByFilter(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a", "batches/b", "operations/c")
	f.Register("batches/d")
	f.Settle("batches/d", operation.Succeeded, operation.Result{})
	open := func() (n int) {
		for _, key := range []operation.Key{"batches/a", "batches/b", "operations/c"} {
			if f.Effects(key)["log"].State == ledger.EffectDead {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		args []string
		want string // the operations
	}{
		{[]string{"--dead"}, "operations/c batches/b batches/a"},
		{[]string{"--dead", "--collection", "batches"}, "batches/b batches/a"},
		{[]string{"--collection", "batches"}, "batches/d batches/b batches/a"},
		{[]string{"--dead", "--job-kind", "te*", "--state", "succeeded"}, "operations/c batches/b batches/a"},
		{[]string{"--dead", "--job-kind", "other"}, ""},
		{[]string{"--dead", "--since", "1h"}, "operations/c batches/b batches/a"},
		{[]string{"--dead", "--since", time.Now().Add(time.Hour).Format(time.RFC3339)}, ""},
		{[]string{"--dead", "--error", "said no"}, "operations/c batches/b batches/a"},
		{[]string{"--dead", "--error", "said yes"}, ""},
		{[]string{"--dead", "--effect", "strange"}, ""},
		{[]string{"--dead", "--effect", "log"}, "operations/c batches/b batches/a"},
	} {
		s := commandtest.Run(t, nil, append([]string{"replay", "--dry-run", "--store", f.Store()}, c.args...)...).Want(t,
			terminal.ExitDone)
		var got []string
		for line := range strings.Lines(s.Out) {
			if first, _, _ := strings.Cut(line, " "); strings.Contains(first, "/") {
				got = append(got, first)
			}
		}
		if strings.Join(got, " ") != c.want || strings.Contains(s.Out, "would run") != (c.want != "") {
			t.Errorf("%v: %q, want %s", c.args, s.Out, c.want)
		}
	}
	if open() != 3 {
		t.Error("--dry-run has run something")
	}
	for _, in := range []string{"", "n\n", "what\n"} {
		s := commandtest.Answer(t, nil, in, "replay", "--dead", "--store", f.Store())
		s.Want(t, terminal.ExitFailed, "Run 3 effects of 3 operations again? [y/N] ",
			"nothing was run; answer y, or pass --yes")
	}
	if open() != 3 {
		t.Error("it ran an effect without a yes")
	}
	commandtest.Answer(t, nil, "y\n", "replay", "--dead", "--collection", "batches", "--store", f.Store()).Want(t,
		terminal.ExitDone)
	if open() != 1 {
		t.Errorf("%d are dead after a yes", open())
	}
	if s := commandtest.Run(t, nil, "replay", "--dead", "--yes", "--store", f.Store()).Want(t,
		terminal.ExitDone); open() != 0 ||
		strings.Contains(s.Err, "[y/N]") {
		t.Errorf("%d are dead after --yes: %s", open(), s.Err)
	}
}

// TestReplaySince: --since goes by when the effect died, not by when its operation ended. Of an
// effect that died under an earlier version the operation's end counts.
func TestReplaySince(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	before, after := since.Add(-time.Hour), since.Add(time.Hour)
	for _, c := range []struct {
		died, settled time.Time
		why           string
		want          bool
	}{
		{after, before, "it refused", true},
		{before, before, "it refused", false},
		{before, after, "it refused", false},
		{time.Time{}, after, "it refused", true},
		{time.Time{}, before, "it refused", false},
		{time.Time{}, time.Time{}, "it refused", false},
		{after, before, "it was down", false},
	} {
		effect := ledger.Effect{DiedAt: c.died, LastError: c.why}
		if got := effects.ChosenSince(since, "refused", effect, c.settled); got != c.want {
			t.Errorf("died %v, settled %v, %s: %v", c.died, c.settled, c.why, got)
		}
	}
	f := commandtest.NewFile(t)
	alert := f.DeadAlert("intents/night-1") // about no operation, so nothing ended
	commandtest.Run(t, nil, "replay", "--dead", "--since", "1h", "--dry-run", "--store", f.Store()).Want(t,
		terminal.ExitDone).Says(t,
		"intents/night-1", alert)
}

// TestReplayWaived: a waived effect is run again only if it is named.
func TestReplayWaived(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Effects.Waive(ctx, "batches/a", "log", ledger.Decision{By: "ops", Why: "by hand"})
		return err
	})
	for _, args := range [][]string{{"batches/a"}, {"--state", "succeeded", "--yes"}, {"--dead", "--yes"}} {
		commandtest.Run(t, nil, append([]string{"replay", "--store", f.Store()}, args...)...).Want(t, terminal.ExitDone)
		if e := f.Effects("batches/a")["log"]; e.State != ledger.EffectDead || e.Abandoned == nil {
			t.Errorf("%v: %+v", args, e)
		}
	}
	commandtest.Run(t, nil, "replay", "batches/a", "--effect", "log", "--store", f.Store()).Want(t, terminal.ExitDone)
	if e := f.Effects("batches/a")["log"]; e.State != ledger.EffectDone || e.Abandoned != nil {
		t.Errorf("%+v", e)
	}
}

// TestReplayNeverPlanned: an effect that no rule had when the operation ended is planned now; if
// the operation has not ended, the error says so.
func TestReplayNeverPlanned(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	f.Register("batches/b")
	f.Settle("batches/stranger", operation.Succeeded, operation.Result{})
	variables := []string{"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_EFFECTS=[{name: later, on: [SUCCEEDED], do: log}]"}
	s := commandtest.Run(t, variables, "replay", "batches/a", "--effect", "later").Want(t, terminal.ExitDone,
		`"replay":"planned"`)
	if !strings.Contains(s.Out, "batches/a  later  done") || f.Effects("batches/a")["later"].State != ledger.EffectDone {
		t.Errorf("%s %+v", s.Out, f.Effects("batches/a"))
	}
	for _, c := range []struct{ name, says string }{
		{"batches/b", "PENDING"}, {"batches/stranger", "not registered"}, {"batches/none", "opledger list"},
	} {
		commandtest.Run(t, variables, "replay", c.name, "--effect", "later").Want(t, terminal.ExitFailed, c.says)
	}
	commandtest.Run(t, variables, "replay", "batches/a", "--effect", "other", "--rerun").Want(t, terminal.ExitFailed,
		"opledger show").Complaint(t)
}

// TestReplayWrongUse: exit code 2, and what to do.
func TestReplayWrongUse(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	for _, c := range []struct {
		args []string
		says []string
	}{
		{nil, []string{"name an operation", "--dead"}},
		{[]string{"--effect", "log"}, []string{"name an operation"}},
		{[]string{"batches/a", "batches/b"}, []string{"replay --help"}},
		{[]string{" "}, []string{"name"}},
		{[]string{"batches/a", "--state", "FAILED"}, []string{"not both"}},
		{[]string{"--state", "DONE"}, []string{"--state"}},
		{[]string{"--collection", "job"}, []string{"--collection"}},
		{[]string{"--job-kind", "["}, []string{"--job-kind"}},
		{[]string{"--state", "FAILED", "--error", "x"}, []string{"--error", "--dead"}},
		{[]string{"--since", "yesterday"}, []string{"--since", "24h"}},
		{[]string{"batches/a", "--rerun=a/b"}, []string{"--rerun", "letters"}},
		{[]string{"batches/a", "--rerun=a b"}, []string{`--rerun: "a b" must be up to 64 letters`}},
		{[]string{"batches/a", "--rerun", "nonce1"}, []string{
			"--rerun: its nonce follows an equals sign; write --rerun=nonce1",
		}},
		{[]string{"batches/a", "--rerun=stuck-1"}, []string{"--rerun", "alert"}},
		{[]string{"batches/a", "--rerun="}, []string{"--rerun", "empty"}},
		{[]string{"batches/a", "--rerun", "--effect", "log@a"}, []string{"--effect", `"log"`}},
	} {
		s := commandtest.Run(t, nil, append([]string{"replay", "--store", f.Store()}, c.args...)...).Want(t,
			terminal.ExitUsage, c.says...)
		if s.Complaint(t); s.Out != "" {
			t.Errorf("%v: stdout %q", c.args, s.Out)
		}
	}
	commandtest.Run(t, []string{"GOOGLE_CLOUD_PROJECT=p"}, "replay", "--dead").Want(t, terminal.ExitUsage,
		"OPLEDGER_TOPIC").Complaint(t)
	commandtest.Run(t, nil, "replay", "--dead", "--store", "sqlite:"+f.Path+".none").Want(t, terminal.ExitUnread,
		"there is no ledger in").Complaint(t)
}
