package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
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

// TestReplay: a dead effect of a ledger in a file is reopened and run in this process, with the
// operator's name recorded [G5].
func TestReplay(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	s := cli(t, nil, "replay", "projects/p/locations/us/batches/a/", "--store", f.store(), "--by", "ops").want(t, exitDone,
		`"replay":"reopened"`)
	if want := "batches/a  log  done\nran 1 effect of 1 operation, once each; opledger show NAME shows the " +
		"outcome\n1 done\n"; s.out != want {
		t.Errorf("%q, want %q", s.out, want)
	}
	e := f.effects("batches/a")["log"]
	if e.State != ledger.EffectDone || e.Fence != 2 || len(e.Replays) != 1 || e.Replays[0].By != "ops" {
		t.Errorf("%+v", e)
	}
	// A done effect runs again only with --rerun; a bare id is enough.
	s = cli(t, nil, "replay", "a", "--store", f.store()).want(t, exitDone)
	if s.out != "nothing to run again: every effect of batches/a is done; --rerun runs it once more\n" {
		t.Errorf("%q", s.out)
	}
}

// TestReplayNothing: where nothing is run again, the words say why, and name --rerun only where it helps.
func TestReplayNothing(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a", "batches/p")
	f.settle("batches/a", operation.Succeeded, operation.Result{})
	f.settle("batches/u", operation.Succeeded, operation.Result{})
	cli(t, nil, "replay", "batches/a", "--store", f.store()).want(t, exitDone)
	const pending = "batches/p is PENDING; its effects are planned when it ends"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"batches/p"}, pending},
		{[]string{"batches/p", "--rerun", "--yes"}, pending},
		{[]string{"batches/u"},
			"batches/u is not registered, so it has no effects; opledger register batches/u registers it"},
		{[]string{"batches/a", "--effect", "log"}, "the effect log of batches/a is done; --rerun runs it once more"},
		{[]string{"batches/a", "--dead"}, "batches/a has no dead effect"},
		{[]string{"--dead"}, "no selected effect is dead"},
		{[]string{"--dead", "--rerun"}, "no selected effect is dead"},
		{[]string{"--state", "FAILED", "--rerun"}, "no selected operation has an effect"},
		{[]string{"--collection", "batches"}, "no selected effect is open or dead; --rerun runs once more what is done"},
	} {
		s := cli(t, nil, append([]string{"replay", "--store", f.store()}, c.args...)...).want(t, exitDone)
		if s.out != "nothing to run again: "+c.want+"\n" {
			t.Errorf("%v: %q, want %q", c.args, s.out, c.want)
		}
	}
	f.dead("batches/w")
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.WaiveEffect(ctx, "batches/w", "log", ledger.Abandonment{By: "ops", Why: "by hand"})
		return err
	})
	cli(t, nil, "replay", "batches/w", "--store", f.store()).want(t, exitDone).
		says(t, "only what is waived is left; --effect log runs it")
}

// TestReplayThatFails: if an effect dies again, the command fails and says so.
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
	s := cli(t, variables, "replay", "batches/a").want(t, exitFailed, "not done: 1 of 1 effect")
	if !strings.HasPrefix(s.out, "batches/a  log  dead\n") {
		t.Errorf("%q", s.out)
	}
}

// TestReplayPaused: while effects are paused, a replay is accepted and runs nothing; the effect
// runs when the pause ends [G5, R5].
func TestReplayPaused(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	variables := []string{"OPLEDGER_STORE=" + f.store(), "OPLEDGER_EFFECTS_PAUSED=true"}
	s := cli(t, variables, "replay", "batches/a").want(t, exitDone, `"outcome":"paused"`)
	want := "batches/a  log  open\neffects are paused: accepted 1 effect of 1 operation; what is open runs when the " +
		"pause ends, and serve sweeps\n"
	if s.out != want {
		t.Errorf("%q, want %q", s.out, want)
	}
	s = cli(t, variables, "replay", "batches/a", "--rerun=fix-1", "--json", "--yes").want(t, exitDone)
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

// TestFollowsPause: on a file a command starts no effect in the pause that the last pass saw, as with a
// topic: what it asks for waits. A variable for the command decides otherwise [G5, R5].
func TestFollowsPause(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	f.saw(ledger.EffectsPaused)
	store := "OPLEDGER_STORE=" + f.store()
	const note = "effects are paused, as the ledger says: what this command starts waits for the end of the pause; " +
		"OPLEDGER_EFFECTS_PAUSED=false runs it all the same"
	cli(t, []string{store}, "replay", "batches/a").want(t, exitDone, note).
		says(t, "batches/a  log  open\neffects are paused: accepted 1 effect of 1 operation;")
	cli(t, []string{store}, "quarantine", "retry", "none").want(t, exitFailed, note) // it may plan effects
	if e := f.effects("batches/a")["log"]; e.State != ledger.EffectPending || e.Fence != 1 || len(e.Replays) != 1 {
		t.Errorf("%+v", e)
	}
	cli(t, []string{store}, "show", "batches/a").want(t, exitDone).says(t, "log waits for the pause to end")
	s := cli(t, []string{store, "OPLEDGER_EFFECTS_PAUSED=false"}, "replay", "batches/a").want(t, exitDone)
	if e := f.effects("batches/a")["log"]; e.State != ledger.EffectDone || strings.Contains(s.err, "paused") {
		t.Errorf("%+v: %s", e, s.err)
	}
	f.dead("batches/b")
	f.saw(ledger.EffectsRunning)
	cli(t, []string{store}, "replay", "batches/b").want(t, exitDone).says(t, "ran 1 effect of 1 operation")
}

// saw reports a pass that saw effects paused, or not.
func (f file) saw(pause ledger.Pause) {
	f.t.Helper()
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		lookups, err := l.BeginLookups(ctx, time.Second)
		if err != nil {
			return err
		}
		return lookups.Report(ctx, ledger.Pass{
			Began: time.Now(), Ended: time.Now(), Outcome: ledger.PassDone, Webhook: ledger.WebhookNone, Effects: pause,
		})
	})
}

// TestReplayRerun: a done effect runs once more as a run of its own; the same nonce is the same
// run; the first run stays [G5, K4].
func TestReplayRerun(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	cli(t, nil, "replay", "batches/a", "--store", f.store()).want(t, exitDone)
	rerun := []string{"replay", "batches/a", "--rerun", "--store", f.store()}
	answer(t, nil, "n\n", rerun...).
		want(t, exitFailed, "Run 1 effect of 1 operation again? [y/N] ", "nothing was published")
	cli(t, nil, append(rerun, "--json")...).want(t, exitUsage, "with --json no question is asked")
	if effects := f.effects("batches/a"); len(effects) != 1 {
		t.Errorf("it reran without a yes: %+v", effects)
	}
	for range 2 {
		s := cli(t, nil, "replay", "batches/a", "--effect", "log", "--rerun=fix-1", "--yes", "--by", "ops",
			"--store", f.store()).want(t, exitDone)
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
	s := cli(t, nil, append(rerun, "--json", "--yes")...).want(t, exitDone)
	var report struct {
		Effects   []map[string]string
		Published int
		Rerun     string `json:"rerun"`
	}
	oneObject(t, s.out, &report)
	if report.Published != 1 || len(report.Effects) != 1 ||
		f.effects("batches/a")["log@"+report.Rerun].State != ledger.EffectDone {
		t.Errorf("%s", s.out)
	}
}

// TestReplayRerunNonce: the nonce that --rerun makes up is on stderr before the first effect runs. A command
// that is killed meanwhile is continued with it, and runs nothing a second time [G5, K4].
func TestReplayRerunNonce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags []string
		note  *regexp.Regexp
	}{
		"for an operator": {nil, regexp.MustCompile(
			`(?m)^opledger: these runs are @(\S+); if this command is cut off, continue with --rerun=(\S+)$`)},
		"as JSON": {[]string{"--json"}, regexp.MustCompile(
			`(?m)^\{"note":"these runs are @(\S+); if this command is cut off, continue with --rerun=([^"]+)"\}$`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFile(t)
			f.dead("batches/a")
			var out, said bytes.Buffer
			var nonce, key string
			receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if key = r.Header.Get("Idempotency-Key"); nonce != "" {
					return
				}
				if found := c.note.FindStringSubmatch(said.String()); found != nil && found[1] == found[2] {
					nonce = found[1]
				}
			}))
			t.Cleanup(receiver.Close)
			variables := []string{
				"OPLEDGER_STORE=" + f.store(), "OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
				"OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED], do: http, url: '" + receiver.URL + "'}]",
			}
			args := append([]string{"replay", "batches/a", "--rerun", "--yes"}, c.flags...)
			code := run(t.Context(), args, environment{variables: variables, out: &out, err: &said})
			if code != exitDone || nonce == "" || !strings.HasSuffix(key, "#log@"+nonce) {
				t.Errorf("exit code %d, nonce %q, key %q: %s", code, nonce, key, said.String())
			}
		})
	}
}
