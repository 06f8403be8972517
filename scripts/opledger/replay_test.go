package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// markDead makes effects of the operations dead.
func (f file) markDead(names ...operation.Key) {
	f.t.Helper()
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		for _, name := range names {
			grant, err := l.Claim(ctx, name, "log")
			if err == nil {
				err = l.MarkDead(ctx, grant.Lease, errors.New("the target said no"))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// dead makes operations whose effect is dead.
func (f file) dead(names ...string) {
	f.t.Helper()
	f.register(names...)
	for _, name := range names {
		f.settle(operation.Key(name), operation.Succeeded, operation.Result{})
		f.markDead(operation.Key(name))
	}
}

// effects returns the effects of an operation, by name.
func (f file) effects(key operation.Key) map[string]ledger.Effect {
	f.t.Helper()
	effects := map[string]ledger.Effect{}
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		story, err := l.Show(ctx, key)
		for _, effect := range story.Effects {
			effects[effect.Name] = effect
		}
		return err
	})
	return effects
}

// answer runs a command line with an answer on stdin.
func answer(t *testing.T, variables []string, in string, args ...string) said {
	t.Helper()
	var out, err bytes.Buffer
	code := run(t.Context(), args, environment{variables: variables, in: strings.NewReader(in), out: &out, err: &err})
	return said{code, out.String(), err.String()}
}

// TestReplay: a dead effect of a ledger in a file is reopened and run in this process, recorded
// with who [G5].
func TestReplay(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	s := cli(t, nil, "replay", "projects/p/locations/us/batches/a/", "--store", f.store(), "--by", "ops").want(t, exitDone,
		`"replay":"reopened"`)
	if want := "batches/a  log  done\nran 1 effect of 1 operation, once each; opledger show NAME shows the " +
		"outcome\n"; s.out != want {
		t.Errorf("%q, want %q", s.out, want)
	}
	e := f.effects("batches/a")["log"]
	if e.State != ledger.EffectDone || e.Fence != 2 || len(e.Replays) != 1 || e.Replays[0].By != "ops" {
		t.Errorf("%+v", e)
	}
	// What is done is run again only anew; a bare id will do.
	s = cli(t, nil, "replay", "a", "--store", f.store()).want(t, exitDone)
	if s.out != "nothing to run again; --rerun runs what is done once more\n" {
		t.Errorf("%q", s.out)
	}
}

// TestReplayThatFails: an effect that dies again is said to, and the command fails.
func TestReplayThatFails(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusGone)
	}))
	t.Cleanup(receiver.Close)
	variables := []string{
		"OPLEDGER_STORE=" + f.store(),
		"OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED], do: http, url: '" + receiver.URL + "'}]",
		"OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
	}
	s := cli(t, variables, "replay", "batches/a").want(t, exitFailed, "1 of 1 effects are not done")
	if !strings.HasPrefix(s.out, "batches/a  log  dead\n") {
		t.Errorf("%q", s.out)
	}
}

// TestReplayPaused: while effects are paused a replay is taken in and runs nothing, which it says
// plainly; it runs when the pause ends [G5, R5].
func TestReplayPaused(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	variables := []string{"OPLEDGER_STORE=" + f.store(), "OPLEDGER_EFFECTS_PAUSED=true"}
	s := cli(t, variables, "replay", "batches/a").want(t, exitDone, `"outcome":"paused"`)
	want := "batches/a  log  open\npaused by OPLEDGER_EFFECTS_PAUSED: accepted 1 effect of 1 operation; what is open " +
		"runs when the pause ends, and serve sweeps\n"
	if s.out != want {
		t.Errorf("%q, want %q", s.out, want)
	}
	s = cli(t, variables, "replay", "batches/a", "--anew=fix-1", "--json").want(t, exitDone) // the alias of --rerun
	var report struct{ Paused bool }
	if oneObject(t, s.out, &report); !report.Paused {
		t.Errorf("%s", s.out)
	}
	for name, effect := range f.effects("batches/a") {
		if effect.State != ledger.EffectPending || effect.Attempts != 0 || effect.DueAt.IsZero() {
			t.Errorf("%s: %+v", name, effect)
		}
	}
	cli(t, nil, "replay", "batches/a", "--store", f.store()).want(t, exitDone)
	for name, effect := range f.effects("batches/a") {
		if effect.State != ledger.EffectDone {
			t.Errorf("%s: %+v", name, effect)
		}
	}
}

// TestReplayRerun: what is done is run once more as a run of its own; the same nonce again is the
// same run; the first stays [G5, K4].
func TestReplayRerun(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	cli(t, nil, "replay", "batches/a", "--store", f.store()).want(t, exitDone)
	for range 2 {
		s := cli(t, nil, "replay", "batches/a", "--effect", "log", "--rerun=fix-1", "--by", "ops", "--store",
			f.store()).want(t, exitDone)
		if !strings.Contains(s.out, "batches/a  log@fix-1  done\n") || !strings.Contains(s.out, "each is the run @fix-1") {
			t.Errorf("%q", s.out)
		}
	}
	effects := f.effects("batches/a")
	run := effects["log@fix-1"]
	if len(effects) != 2 || run.State != ledger.EffectDone || run.Fence != 1 || run.Replays[0].By != "ops" ||
		run.IdempotencyKey != "gemini:batches/a#log@fix-1" || effects["log"].State != ledger.EffectDone {
		t.Errorf("%+v", effects)
	}
	s := cli(t, nil, "replay", "batches/a", "--rerun", "--json", "--store", f.store()).want(t, exitDone)
	var report struct {
		Effects   []map[string]string
		Published int
		Rerun     string `json:"anew"`
	}
	oneObject(t, s.out, &report)
	if report.Published != 1 || len(report.Effects) != 1 ||
		f.effects("batches/a")["log@"+report.Rerun].State != ledger.EffectDone {
		t.Errorf("%s", s.out)
	}
}

// TestReplayByFilter: it says how many, asks, and takes only a yes; --dry-run says which and does
// nothing.
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
		t.Error("it has run something that nobody agreed to")
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

// TestReplayWaived: what a person has waived is run again only where it is named.
func TestReplayWaived(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.AbandonEffect(ctx, "batches/a", "log", ledger.Abandonment{By: "ops", Why: "by hand"})
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

// TestReplayNeverPlanned: what no rule had when the operation ended is planned now, if the
// operation ended; otherwise it says why not.
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
		{"batches/b", "PENDING"}, {"batches/stranger", "nobody registered"}, {"batches/none", "opledger list"},
	} {
		cli(t, variables, "replay", c.name, "--effect", "later").want(t, exitFailed, c.says)
	}
	cli(t, variables, "replay", "batches/a", "--effect", "other", "--rerun").want(t, exitFailed,
		"opledger show").complaint(t)
}

// TestReplayWrongUse: 2, and what to do.
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
		{[]string{"--since", "yesterday"}, []string{"--since", "24h"}},
		{[]string{"batches/a", "--rerun=a/b"}, []string{"--rerun", "letters"}},
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
	cli(t, nil, "replay", "--dead", "--store", "sqlite:"+f.path+".none").want(t, exitFailed,
		"there is no ledger in").complaint(t)
}
