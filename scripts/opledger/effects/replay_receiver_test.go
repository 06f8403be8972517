package effects_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/effects"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// A hooks is a receiver that answers as it is told, and counts.
type hooks struct {
	*httptest.Server
	status, calls atomic.Int64
}

func newHooks(t *testing.T) (h *hooks, host string, variables []string) {
	t.Helper()
	h = &hooks{}
	h.status.Store(http.StatusOK)
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h.calls.Add(1)
		w.WriteHeader(int(h.status.Load()))
	}))
	t.Cleanup(h.Close)
	return h, strings.TrimPrefix(h.URL, "http://"), []string{
		"OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		"OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED], do: http, url: '" + h.URL + "'}]",
	}
}

// TestReplayReceiver: of a receiver that is down one effect is tried; of one that refuses for good three are; of
// one that accepts all are done. Another receiver's are not chosen.
func TestReplayReceiver(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	var names []string
	for n := range 14 {
		names = append(names, fmt.Sprintf("batches/%d", n))
	}
	f.Dead(names...)
	h, host, variables := newHooks(t)
	variables = append(variables, "OPLEDGER_STORE="+f.Store())
	replay := func(args ...string) commandtest.Said {
		t.Helper()
		return commandtest.Run(t, variables, append([]string{"replay", "--yes"}, args...)...)
	}
	replay("--receiver", "other.example").Want(t, terminal.ExitDone).Says(t,
		"nothing to run again: no effect that failed is known to be of other.example")
	replay("--receiver", host, "--dry-run").Want(t, terminal.ExitDone).Says(t,
		"would run 14 effects of 14 operations again")
	h.status.Store(http.StatusServiceUnavailable)
	replay("--receiver", host).Want(t, terminal.ExitFailed, "stopped after 1 of 14: log of batches/",
		"failed again, and backs off", "13 effects were not tried").Says(t,
		"dead  not tried\nand 3 more that were not tried\n",
		"ran 1 effect of 1 operation, once each", "0 done, 13 not tried, 1 open still")
	if n := h.calls.Swap(0); n != 1 {
		t.Errorf("a receiver that is down was called %d times", n)
	}
	h.status.Store(http.StatusGone)
	replay("--receiver", host).Want(t, terminal.ExitFailed, "stopped after 3 of 13: refused for good are log of batches/",
		"10 effects were not tried")
	if n := h.calls.Swap(0); n != 3 {
		t.Errorf("a receiver that refuses was called %d times", n)
	}
	h.status.Store(http.StatusOK)
	replay("--receiver", host, "--now", "--dry-run").Want(t, terminal.ExitDone).Says(t, "would run 14 effects of 14")
	replay("--receiver", host, "--now").Want(t, terminal.ExitDone).Says(t, "14 done")
	if n := h.calls.Load(); n != 14 {
		t.Errorf("the receiver was called %d times", n)
	}
	replay("--receiver", host, "--now").Want(t, terminal.ExitDone).Says(t, "nothing to run again: ")
}

// TestReplayReceiverStranded: what a replay left to a serve that does not run is said, with how many wait and what runs
// them, and is run once the command has the effects itself.
func TestReplayReceiverStranded(t *testing.T) {
	t.Parallel()
	h, host, variables := newHooks(t)
	f := commandtest.NewFile(t)
	variables = append(variables, "OPLEDGER_STORE="+f.Store())
	for _, name := range []string{"batches/a", "batches/b"} {
		f.Register(name)
		f.Settle(operation.Key(name), operation.Succeeded, operation.Result{})
	}
	h.status.Store(http.StatusGone)
	commandtest.Run(t, variables, "replay", "--state", "SUCCEEDED", "--yes").Want(t, terminal.ExitFailed).Says(t,
		"2 dead again")
	commandtest.Serving(t, append(variables, "OPLEDGER_EFFECTS_PAUSED=true"), "--schedule=false").Stop()
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		return l.Passes.StorePause(ctx, ledger.EffectsRunning)
	})
	left := func(args ...string) commandtest.Said {
		t.Helper()
		return commandtest.Run(t, variables[len(variables)-1:], append([]string{"replay", "--yes"}, args...)...)
	}
	const start = "start opledger serve with its variables and flags, such as --port and --forward-to, or set " +
		"OPLEDGER_EFFECTS, and each variable OPLEDGER_EFFECT_…, here as serve has them"
	left("--receiver", host).Want(t, terminal.ExitFailed, "nothing was run of 2 effects of 2 operations: "+start)
	left("--dead").Want(t, terminal.ExitFailed, "not done: no opledger serve runs on this ledger").Says(t,
		"left 2 effects")
	left("--receiver", host).Want(t, terminal.ExitFailed, "nothing was run of 2 effects of 2 operations: "+start)
	for _, args := range [][]string{{"--dead"}, {"--dead", "--receiver", host}} {
		left(args...).Want(t, terminal.ExitFailed, "not done: 2 effects are open. No opledger serve runs on this ledger: ",
			start).Says(t, "nothing to run again: ")
	}
	left("--dead", "--receiver", "other.example").Want(t, terminal.ExitDone).Says(t, "nothing to run again: ")
	commandtest.Run(t, variables, "replay", "--dead").Want(t, terminal.ExitFailed, "not done: 2 effects are open.",
		"select what is to run here by a name or by --receiver, without --dead")
	h.status.Store(http.StatusOK)
	commandtest.Run(t, variables, "replay", "--receiver", host, "--yes").Want(t, terminal.ExitDone).Says(t, "2 done")
	left("--dead").Want(t, terminal.ExitDone).Says(t, "nothing to run again: ")
}

// TestReplayReceiverUnplaced: what waits for a serve that does not run, and has never failed, may be the receiver's
// where the command does not have the effects: that is said, and not that there is nothing to run.
func TestReplayReceiverUnplaced(t *testing.T) {
	t.Parallel()
	_, host, variables := newHooks(t)
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	store := "OPLEDGER_STORE=" + f.Store()
	commandtest.Serving(t, append(variables, store, "OPLEDGER_EFFECTS_PAUSED=true"), "--schedule=false").Stop()
	replay := func(variables []string, args ...string) commandtest.Said {
		t.Helper()
		return commandtest.Run(t, append(variables, store), append([]string{"replay", "--yes", "--receiver"}, args...)...)
	}
	replay(nil, host).Want(t, terminal.ExitFailed, "not done: 1 effect is open whose receiver is not known here. "+
		"No opledger serve runs on this ledger: ", "start opledger serve with its variables and flags",
		", or set OPLEDGER_EFFECTS, and each variable OPLEDGER_EFFECT_…, here as serve has them")
	replay(nil, host, "--effect", "other").Want(t, terminal.ExitDone)
	another := []string{"--override-settings", "OPLEDGER_EFFECTS=[{name: another, on: [SUCCEEDED], do: log}]"}
	replay(another[1:], host, another[0]).Want(t, terminal.ExitFailed, "not done: 1 effect is open whose receiver is "+
		"not known here", "such as --port and --forward-to\n")
	replay(append(variables, "OPLEDGER_EFFECTS_PAUSED=false"), "other.example").Want(t, terminal.ExitDone)
	logs := "OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED], do: log}]" // it has no receiver
	replay([]string{logs}, host, another[0]).Want(t, terminal.ExitDone)
	replay(append(variables, "OPLEDGER_EFFECTS_PAUSED=false"), host).Want(t, terminal.ExitDone).Says(t, "1 done")
}

// TestReplayForwarded: for an effect of --forward-to no command says to set OPLEDGER_EFFECTS: serve alone has the
// secret that it signs with, and lets it post to this machine.
func TestReplayForwarded(t *testing.T) {
	t.Parallel()
	h, host, _ := newHooks(t)
	f := commandtest.NewFile(t)
	store := []string{"OPLEDGER_STORE=" + f.Store()}
	commandtest.Serving(t, append(store, "OPLEDGER_EFFECTS_PAUSED=true"), "--schedule=false", "--forward-to",
		h.URL).Stop()
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	commandtest.Run(t, store, "register", "batches/a").Want(t, terminal.ExitDone)
	serveAgain := func(words string, variables []string, args ...string) {
		t.Helper()
		said := commandtest.Run(t, append(variables, store...), append([]string{"replay", "--yes"}, args...)...)
		if said.Want(t, terminal.ExitFailed, words); strings.Contains(said.Err, "set OPLEDGER_EFFECTS") {
			t.Errorf("%s", said.Err)
		}
	}
	serveAgain("1 effect is open whose receiver is not known here", nil, "--receiver", host)
	serveAgain("not done: 1 effect is open. ", nil, "--dead")
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		grant, err := l.Effects.Claim(ctx, "batches/a", "forward")
		if err == nil {
			err = l.Effects.MarkDead(ctx, grant.Lease, errors.New(h.URL+" answered 410 Gone"))
		}
		return errors.Join(err, l.Passes.StorePause(ctx, ledger.EffectsRunning))
	})
	serveAgain("nothing was run of 1 effect of 1 operation: start opledger serve", nil, "--receiver", host)
	another := []string{"OPLEDGER_EFFECTS=[{name: another, on: [SUCCEEDED], do: log}]"}
	serveAgain("those of --forward-to only opledger serve runs: start it with that flag", another, "--dead",
		"--override-settings")
}

// TestReplayNow: an effect that backs off is tried at once with --now, and keeps its failures; without it stays.
func TestReplayNow(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		grant, err := l.Effects.Claim(ctx, "batches/a", "log")
		if err == nil {
			_, err = l.Effects.Release(ctx, grant.Lease, errors.New("503"), time.Hour)
		}
		return err
	})
	h, _, variables := newHooks(t)
	variables = append(variables, "OPLEDGER_STORE="+f.Store())
	commandtest.Run(t, variables, "replay", "batches/a").Want(t, terminal.ExitFailed).Says(t, "backs off until", "--now")
	if n := h.calls.Load(); n != 0 {
		t.Errorf("without --now the receiver was called %d times", n)
	}
	h.status.Store(http.StatusBadGateway)
	commandtest.Run(t, variables, "replay", "batches/a", "--now").Want(t, terminal.ExitFailed)
	if e := f.Effects("batches/a")["log"]; e.Failing == nil || e.Failing.Times != 2 {
		t.Errorf("its failures: %+v", e.Failing)
	}
	h.status.Store(http.StatusOK)
	commandtest.Run(t, variables, "replay", "batches/a", "--now").Want(t, terminal.ExitDone).Says(t, "1 done")
}

// TestReplayReceiverFlags: what chooses operations chooses no receiver, and its outcomes are waited for.
func TestReplayReceiverFlags(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	for _, c := range []struct{ args, want string }{
		{"batches/a --receiver h", "not both"}, {"--receiver h --state FAILED", "it chooses effects and not operations"},
		{"--receiver h --rerun", "it chooses effects and not operations"}, {"--receiver h --no-wait", "each outcome decides"},
		{"--dead --now --rerun", "a rerun has no back-off"},
	} {
		args := append([]string{"replay", "--store", f.Store()}, strings.Fields(c.args)...)
		commandtest.Run(t, nil, args...).Want(t, terminal.ExitUsage, c.want)
	}
}

// TestWaiveReceiver: the dead effects of one receiver are waived at once, or those that the flags choose of them; it
// says how many, and asks. A dry run records nothing, and needs no reason.
func TestWaiveReceiver(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a", "batches/b")
	_, host, variables := newHooks(t)
	variables = append(variables, "OPLEDGER_STORE="+f.Store())
	waive := func(in string, args ...string) commandtest.Said {
		t.Helper()
		return commandtest.Answer(t, variables, in, append([]string{"waive", "--by", "kim"}, args...)...)
	}
	waive("", "--receiver", host, "--dry-run").Want(t, terminal.ExitDone).Says(t,
		"log of batches/", "would waive 2 dead effects; nothing was waived\n")
	waive("", "--receiver", "other.example", "--dry-run").Want(t, terminal.ExitDone).Says(t,
		"nothing to waive: no effect that failed is known to be of other.example")
	var would struct {
		DryRun bool
		Waived []struct{ Operation, Effect string }
	}
	commandtest.OneObject(t, waive("", "--receiver", host, "--dry-run", "--json").Want(t, terminal.ExitDone).Out, &would)
	if !would.DryRun || len(would.Waived) != 2 || would.Waived[0].Effect != "log" {
		t.Errorf("%+v", would)
	}
	waive("n\n", "--receiver", host, "--reason", "r").Want(t, terminal.ExitFailed,
		"Waive 2 dead effects: log of batches/", "nothing was waived")
	waive("", "--receiver", host, "--reason", "r", "--error", "another").Want(t, terminal.ExitDone).Says(t,
		"nothing to waive: no selected effect of "+host+" is dead")
	waive("y\n", "--receiver", host, "--reason", "by hand").Want(t, terminal.ExitDone).Says(t,
		"effect log of batches/a waived by kim at ", "by hand", "waived 2 of 2\n")
	if e := f.Effects("batches/b")["log"]; e.Abandoned == nil || e.Abandoned.Why != "by hand" {
		t.Errorf("%+v", e)
	}
	waive("", "--receiver", host, "--reason", "r").Want(t, terminal.ExitDone).Says(t, "nothing to waive: ")
	for _, c := range []struct{ args, want string }{
		{"batches/a --receiver h", "not both"}, {"", "or select several"}, {"batches/a", "--effect is missing"},
		{"batches/a --effect log --since 1h", "they are for --receiver"},
		{"batches/a --effect log --dry-run", "they are for --receiver"},
		{"--receiver h --since soon", "--since: "},
	} {
		waive("", append(strings.Fields(c.args), "--reason", "r")...).Want(t, terminal.ExitUsage, c.want)
	}
}

// TestReplayReceiverRefused: with a topic, too, three refusals for good are enough.
func TestReplayReceiverRefused(t *testing.T) {
	t.Parallel()
	w := newReplayWorld(t, "batches/a", "batches/b", "batches/c", "batches/d", "batches/e")
	w.refused = "all"
	s := w.replay(effects.ReplayOfDead{Topic: "effects", Of: w.host}, works)
	if len(w.calls) != 3 || !strings.Contains(s.Err, "stopped after 3 of 5: refused for good are ") {
		t.Errorf("%d calls: %+v", len(w.calls), s)
	}
}

// TestReplayReceiverWaits: with a topic the first message's outcome is known before another is published, and one
// that fails again is an outcome.
func TestReplayReceiverWaits(t *testing.T) {
	t.Parallel()
	w := newReplayWorld(t, "batches/a", "batches/b", "batches/c")
	var first int
	s := w.replay(effects.ReplayOfDead{Topic: "effects", Of: w.host}, func(worker, _ func()) {
		worker()
		if first == 0 {
			first = len(w.calls)
		}
	})
	if first != 1 || s.Err != "" || !strings.HasSuffix(s.Out, "for 3 effects of 3 operations\n3 done\n") {
		t.Errorf("after the first look %d were called: %+v", first, s)
	}
	w = newReplayWorld(t, "batches/a", "batches/b")
	w.unavailable = true
	s = w.replay(effects.ReplayOfDead{Topic: "effects", Of: w.host}, works)
	if len(w.calls) != 1 || !strings.Contains(s.Err, "stopped after 1 of 2") {
		t.Errorf("%d calls: %+v", len(w.calls), s)
	}
}
