package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestReplayByFilter: it prints how many effects, asks, and accepts only a yes; --dry-run lists
// them and does nothing.
func TestReplayByFilter(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a", "batches/b", "operations/c")
	f.register("batches/d")
	f.settle("batches/d", operation.Succeeded, operation.Result{})
	open := func() (n int) {
		for _, key := range []operation.Key{"batches/a", "batches/b", "operations/c"} {
			if f.effects(key)["log"].State == ledger.EffectDead {
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
		s := cli(t, nil, append([]string{"replay", "--dry-run", "--store", f.store()}, c.args...)...).want(t, exitDone)
		var got []string
		for line := range strings.Lines(s.out) {
			if first, _, _ := strings.Cut(line, " "); strings.Contains(first, "/") {
				got = append(got, first)
			}
		}
		if strings.Join(got, " ") != c.want || strings.Contains(s.out, "would run") != (c.want != "") {
			t.Errorf("%v: %q, want %s", c.args, s.out, c.want)
		}
	}
	if open() != 3 {
		t.Error("--dry-run has run something")
	}
	for _, in := range []string{"", "n\n", "what\n"} {
		s := answer(t, nil, in, "replay", "--dead", "--store", f.store())
		s.want(t, exitFailed, "Run 3 effects of 3 operations again? [y/N] ", "nothing was published; answer y, or pass --yes")
	}
	if open() != 3 {
		t.Error("it ran an effect without a yes")
	}
	answer(t, nil, "y\n", "replay", "--dead", "--collection", "batches", "--store", f.store()).want(t, exitDone)
	if open() != 1 {
		t.Errorf("%d are dead after a yes", open())
	}
	if s := cli(t, nil, "replay", "--dead", "--yes", "--store", f.store()).want(t, exitDone); open() != 0 ||
		strings.Contains(s.err, "[y/N]") {
		t.Errorf("%d are dead after --yes: %s", open(), s.err)
	}
}

// TestReplaySince: --since goes by when the effect died, not by when its operation ended. Of an
// effect that died under an earlier version the operation's end counts.
func TestReplaySince(t *testing.T) {
	t.Parallel()
	s := replaySelection{dead: true, after: time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC), why: "refused"}
	before, after := s.after.Add(-time.Hour), s.after.Add(time.Hour)
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
		if got := s.chooses(ledger.Effect{DiedAt: c.died, LastError: c.why}, c.settled); got != c.want {
			t.Errorf("died %v, settled %v, %s: %v", c.died, c.settled, c.why, got)
		}
	}
	f := newFile(t)
	alert := f.deadAlert("intents/night-1") // about no operation, so nothing ended
	cli(t, nil, "replay", "--dead", "--since", "1h", "--dry-run", "--store", f.store()).want(t, exitDone).says(t,
		"intents/night-1", alert)
}

// TestReplayWaived: a waived effect is run again only if it is named.
func TestReplayWaived(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.WaiveEffect(ctx, "batches/a", "log", ledger.Abandonment{By: "ops", Why: "by hand"})
		return err
	})
	for _, args := range [][]string{{"batches/a"}, {"--state", "succeeded", "--yes"}, {"--dead", "--yes"}} {
		cli(t, nil, append([]string{"replay", "--store", f.store()}, args...)...).want(t, exitDone)
		if e := f.effects("batches/a")["log"]; e.State != ledger.EffectDead || e.Abandoned == nil {
			t.Errorf("%v: %+v", args, e)
		}
	}
	cli(t, nil, "replay", "batches/a", "--effect", "log", "--store", f.store()).want(t, exitDone)
	if e := f.effects("batches/a")["log"]; e.State != ledger.EffectDone || e.Abandoned != nil {
		t.Errorf("%+v", e)
	}
}

// TestReplayNeverPlanned: an effect that no rule had when the operation ended is planned now; if
// the operation has not ended, the error says so.
func TestReplayNeverPlanned(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	f.register("batches/b")
	f.settle("batches/stranger", operation.Succeeded, operation.Result{})
	variables := []string{"OPLEDGER_STORE=" + f.store(), "OPLEDGER_EFFECTS=[{name: later, on: [SUCCEEDED], do: log}]"}
	s := cli(t, variables, "replay", "batches/a", "--effect", "later").want(t, exitDone, `"replay":"planned"`)
	if !strings.Contains(s.out, "batches/a  later  done") || f.effects("batches/a")["later"].State != ledger.EffectDone {
		t.Errorf("%s %+v", s.out, f.effects("batches/a"))
	}
	for _, c := range []struct{ name, says string }{
		{"batches/b", "PENDING"}, {"batches/stranger", "not registered"}, {"batches/none", "opledger list"},
	} {
		cli(t, variables, "replay", c.name, "--effect", "later").want(t, exitFailed, c.says)
	}
	cli(t, variables, "replay", "batches/a", "--effect", "other", "--rerun").want(t, exitFailed,
		"opledger show").complaint(t)
}

// TestReplayWrongUse: exit code 2, and what to do.
func TestReplayWrongUse(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
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
		{[]string{"--collection", "jobs"}, []string{"--collection"}},
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
		s := cli(t, nil, append([]string{"replay", "--store", f.store()}, c.args...)...).want(t, exitUsage, c.says...)
		if s.complaint(t); s.out != "" {
			t.Errorf("%v: stdout %q", c.args, s.out)
		}
	}
	cli(t, []string{"GOOGLE_CLOUD_PROJECT=p"}, "replay", "--dead").want(t, exitUsage, "OPLEDGER_TOPIC").complaint(t)
	cli(t, nil, "replay", "--dead", "--store", "sqlite:"+f.path+".none").want(t, exitUnread,
		"there is no ledger in").complaint(t)
}
