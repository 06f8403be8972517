package effects_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestReplay: a dead effect of a ledger in a file is reopened and run in this process, with the
// operator's name recorded [G5].
func TestReplay(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	s := commandtest.Run(t, nil, "replay", "projects/p/locations/us/batches/a/", "--store", f.Store(), "--by",
		"ops").Want(t, terminal.ExitDone,
		`"replay":"reopened"`)
	if want := "batches/a  log  done\nran 1 effect of 1 operation, once each; opledger show NAME shows the " +
		"outcome\n1 done\n"; s.Out != want {
		t.Errorf("%q, want %q", s.Out, want)
	}
	e := f.Effects("batches/a")["log"]
	if e.State != ledger.EffectDone || e.Fence != 2 || len(e.Replays) != 1 || e.Replays[0].By != "ops" {
		t.Errorf("%+v", e)
	}
	// A done effect runs again only with --rerun; a bare id is enough.
	s = commandtest.Run(t, nil, "replay", "a", "--store", f.Store()).Want(t, terminal.ExitDone)
	if s.Out != "nothing to run again: every effect of batches/a is done; --rerun runs it once more\n" {
		t.Errorf("%q", s.Out)
	}
}

// TestReplayNothing: where nothing is run again, the words say why, and name --rerun only where it helps.
func TestReplayNothing(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a", "batches/p")
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	f.Settle("batches/u", operation.Succeeded, operation.Result{})
	commandtest.Run(t, nil, "replay", "batches/a", "--store", f.Store()).Want(t, terminal.ExitDone)
	const pending = "batches/p is PENDING; its effects are planned when it ends"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"batches/p"}, pending},
		{[]string{"batches/p", "--rerun", "--yes"}, pending},
		{[]string{"batches/u"},
			"batches/u is not registered, so it has no effects; opledger register batches/u --store " + f.Store() +
				" registers it"},
		{[]string{"batches/a", "--effect", "log"}, "the effect log of batches/a is done; --rerun runs it once more"},
		{[]string{"batches/a", "--dead"}, "batches/a has no dead effect"},
		{[]string{"--dead"}, "no selected effect is dead"},
		{[]string{"--dead", "--rerun"}, "no selected effect is dead"},
		{[]string{"--state", "FAILED", "--rerun"}, "no selected operation has an effect"},
		{[]string{"--collection", "batches"}, "no selected effect is open or dead; --rerun runs done effects once more"},
	} {
		s := commandtest.Run(t, nil, append([]string{"replay", "--store", f.Store()}, c.args...)...).Want(t,
			terminal.ExitDone)
		if s.Out != "nothing to run again: "+c.want+"\n" {
			t.Errorf("%v: %q, want %q", c.args, s.Out, c.want)
		}
	}
	f.Dead("batches/w")
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Effects.Waive(ctx, "batches/w", "log", ledger.Decision{By: "ops", Why: "by hand"})
		return err
	})
	commandtest.Run(t, nil, "replay", "batches/w", "--store", f.Store()).Want(t, terminal.ExitDone).
		Says(t, "only what is waived is left; --effect log runs it")
}

// TestReplayThatFails: if an effect dies again, the command fails and says so.
func TestReplayThatFails(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusGone)
	}))
	t.Cleanup(receiver.Close)
	variables := []string{
		"OPLEDGER_STORE=" + f.Store(),
		"OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED], do: http, url: '" + receiver.URL + "'}]",
		"OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
	}
	s := commandtest.Run(t, variables, "replay", "batches/a").Want(t, terminal.ExitFailed, "not done: 1 of 1 effect")
	if !strings.HasPrefix(s.Out, "batches/a  log  dead\n") {
		t.Errorf("%q", s.Out)
	}
}

// TestReplayPaused: while effects are paused, a replay is accepted and runs nothing; the effect
// runs when the pause ends [G5, R5].
func TestReplayPaused(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	variables := []string{"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_EFFECTS_PAUSED=true"}
	s := commandtest.Run(t, variables, "replay", "batches/a").Want(t, terminal.ExitDone, `"outcome":"paused"`)
	want := "batches/a  log  open\neffects are paused: accepted 1 effect of 1 operation; the open ones run when the " +
		"pause ends, and serve sweeps\n"
	if s.Out != want {
		t.Errorf("%q, want %q", s.Out, want)
	}
	s = commandtest.Run(t, variables, "replay", "batches/a", "--rerun=fix-1", "--json", "--yes").Want(t, terminal.ExitDone)
	var report struct{ Paused bool }
	if commandtest.OneObject(t, s.Out, &report); !report.Paused {
		t.Errorf("%s", s.Out)
	}
	for name, effect := range f.Effects("batches/a") {
		if effect.State != ledger.EffectPending || effect.Attempts != 0 || effect.DueAt.IsZero() {
			t.Errorf("%s: %+v", name, effect)
		}
	}
	commandtest.Run(t, nil, "replay", "batches/a", "--store", f.Store()).Want(t, terminal.ExitDone)
	for name, effect := range f.Effects("batches/a") {
		if effect.State != ledger.EffectDone {
			t.Errorf("%s: %+v", name, effect)
		}
	}
}

// TestFollowsPause: on a file a command starts no effect in the pause that the last pass saw, as with a
// topic: what it asks for waits. A variable for the command decides otherwise [G5, R5].
func TestFollowsPause(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	saw(f, ledger.EffectsPaused)
	store := "OPLEDGER_STORE=" + f.Store()
	const note = "effects are paused, as the ledger says: what this command starts waits until the pause ends; " +
		"OPLEDGER_EFFECTS_PAUSED=false runs it all the same"
	commandtest.Run(t, []string{store}, "replay", "batches/a").Want(t, terminal.ExitDone, note).
		Says(t, "batches/a  log  open\neffects are paused: accepted 1 effect of 1 operation;")
	commandtest.Run(t, []string{store}, "quarantine", "retry", "none").Want(t, terminal.ExitFailed,
		note) // it may plan effects
	if e := f.Effects("batches/a")["log"]; e.State != ledger.EffectPending || e.Fence != 1 || len(e.Replays) != 1 {
		t.Errorf("%+v", e)
	}
	commandtest.Run(t, []string{store}, "show", "batches/a").Want(t, terminal.ExitDone).Says(t,
		"log waits for the pause to end")
	s := commandtest.Run(t, []string{store, "OPLEDGER_EFFECTS_PAUSED=false"}, "replay", "batches/a").Want(t,
		terminal.ExitDone)
	if e := f.Effects("batches/a")["log"]; e.State != ledger.EffectDone || strings.Contains(s.Err, "paused") {
		t.Errorf("%+v: %s", e, s.Err)
	}
	f.Dead("batches/b")
	saw(f, ledger.EffectsRunning)
	commandtest.Run(t, []string{store}, "replay", "batches/b").Want(t, terminal.ExitDone).Says(t,
		"ran 1 effect of 1 operation")
}

// saw reports a pass that saw effects paused, or not.
func saw(f commandtest.File, pause ledger.Pause) {
	f.T.Helper()
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		lookups, err := l.Passes.Begin(ctx, time.Second)
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
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	commandtest.Run(t, nil, "replay", "batches/a", "--store", f.Store()).Want(t, terminal.ExitDone)
	rerun := []string{"replay", "batches/a", "--rerun", "--store", f.Store()}
	commandtest.Answer(t, nil, "n\n", rerun...).
		Want(t, terminal.ExitFailed, "Run 1 effect of 1 operation again? [y/N] ", "nothing was run")
	commandtest.Run(t, nil, append(rerun, "--json")...).Want(t, terminal.ExitUsage, "with --json no question is asked")
	if effects := f.Effects("batches/a"); len(effects) != 1 {
		t.Errorf("it reran without a yes: %+v", effects)
	}
	for range 2 {
		s := commandtest.Run(t, nil, "replay", "batches/a", "--effect", "log", "--rerun=fix-1", "--yes", "--by", "ops",
			"--store", f.Store()).Want(t, terminal.ExitDone)
		if !strings.Contains(s.Out, "batches/a  log@fix-1  done\n") || !strings.Contains(s.Out, "each is the run @fix-1") {
			t.Errorf("%q", s.Out)
		}
	}
	effects := f.Effects("batches/a")
	run := effects["log@fix-1"]
	if len(effects) != 2 || run.State != ledger.EffectDone || run.Fence != 1 || run.Replays[0].By != "ops" ||
		run.IdempotencyKey != "gemini:batches/a#log@fix-1" || effects["log"].State != ledger.EffectDone {
		t.Errorf("%+v", effects)
	}
	s := commandtest.Run(t, nil, append(rerun, "--json", "--yes")...).Want(t, terminal.ExitDone)
	var report struct {
		Effects   []map[string]string
		Published int
		Rerun     string `json:"rerun"`
	}
	commandtest.OneObject(t, s.Out, &report)
	if report.Published != 1 || len(report.Effects) != 1 ||
		f.Effects("batches/a")["log@"+report.Rerun].State != ledger.EffectDone {
		t.Errorf("%s", s.Out)
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
			f := commandtest.NewFile(t)
			f.Dead("batches/a")
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
				"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
				"OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED], do: http, url: '" + receiver.URL + "'}]",
			}
			args := append([]string{"replay", "batches/a", "--rerun", "--yes"}, c.flags...)
			code := root.Run(t.Context(), args, terminal.Environment{Variables: variables, Out: &out, Err: &said})
			if code != terminal.ExitDone || nonce == "" || !strings.HasSuffix(key, "#log@"+nonce) {
				t.Errorf("exit code %d, nonce %q, key %q: %s", code, nonce, key, said.String())
			}
		})
	}
}
