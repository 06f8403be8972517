package open_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// A publisher receives the effect publish of a serve with settings of its own.
type publisher struct {
	refuses  atomic.Bool
	accepted atomic.Int32
	url      string
}

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	p := &publisher{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if p.refuses.Load() {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		p.accepted.Add(1)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// serves starts serve on the file, with the effect publish and a retention of its own.
func (p *publisher) serves(t *testing.T, f commandtest.File, args ...string) commandtest.Served {
	t.Helper()
	return commandtest.Serving(t, p.variables(f), args...)
}

// servesWith is serves with one more variable.
func (p *publisher) servesWith(t *testing.T, f commandtest.File, variable string) commandtest.Served {
	t.Helper()
	return commandtest.Serving(t, append(p.variables(f), variable), "--schedule=false")
}

func (p *publisher) variables(f commandtest.File) []string {
	return []string{
		"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_EFFECT_ALLOW_PRIVATE=true", "OPLEDGER_RETENTION=72h",
		"OPLEDGER_SERVE_TOKEN=", // it makes one
		"OPLEDGER_EFFECTS=[{name: publish, on: [SUCCEEDED], do: http, url: '" + p.url + "/secret-path'}]",
	}
}

// statuses are the effects of an operation, by name.
func statuses(f commandtest.File, key operation.Key) (statuses map[string]operation.EffectStatus) {
	f.T.Helper()
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		rec, err := l.Operations.Read(ctx, key)
		statuses = rec.Effects
		return err
	})
	return statuses
}

// TestFreshShellPlans: register in a shell without serve's settings plans what serve would plan, and
// serve performs it; without a serve it stays open until one starts [L7].
func TestFreshShellPlans(t *testing.T) {
	t.Parallel()
	f, p := commandtest.NewFile(t), newPublisher(t)
	s := p.serves(t, f)
	for _, key := range []operation.Key{"batches/a", "batches/b"} {
		f.Settle(key, operation.Succeeded, operation.Result{})
	}
	said := commandtest.Run(t, nil, "register", "batches/a", "--store", f.Store()).Want(t, terminal.ExitDone,
		"effects that may be planned: publish (as serve has stored them")
	if strings.Contains(said.Err, "secret-path") {
		t.Errorf("it prints a URL: %s", said.Err)
	}
	commandtest.Run(t, nil, "wait", "batches/a", "--store", f.Store(), "--timeout", "1m").Want(t, terminal.ExitDone)
	if got := statuses(f, "batches/a"); len(got) != 1 || got["publish"] != operation.EffectDone || p.accepted.Load() != 1 {
		t.Errorf("%v, accepted %d", got, p.accepted.Load())
	}
	s.Stop()
	commandtest.Run(t, nil, "register", "batches/b", "--store", f.Store()).Want(t, terminal.ExitDone,
		"no opledger serve runs on this ledger")
	if got := statuses(f, "batches/b"); len(got) != 1 || got["publish"] != operation.EffectOpen {
		t.Errorf("without serve: %v", got)
	}
	defer p.serves(t, f, "--schedule=false").Stop()
	commandtest.Run(t, nil, "wait", "batches/b", "--store", f.Store(), "--timeout", "1m").Want(t, terminal.ExitDone)
	if text, err := os.ReadFile(f.Path); err != nil || strings.Contains(string(text), "secret-path") {
		t.Errorf("the ledger holds a URL: %v", err)
	}
}

// TestFreshShellReplays: replay in a shell without serve's settings has serve run the effect, and waits
// for its outcome; without a serve it leaves the effect open for one [L7, G5].
func TestFreshShellReplays(t *testing.T) {
	t.Parallel()
	f, p := commandtest.NewFile(t), newPublisher(t)
	p.refuses.Store(true)
	s := p.serves(t, f)
	for _, name := range []string{"batches/a", "batches/b"} {
		f.Settle(operation.Key(name), operation.Succeeded, operation.Result{})
		commandtest.Run(t, nil, "register", name, "--store", f.Store()).Want(t, terminal.ExitDone)
		commandtest.Run(t, nil, "wait", name, "--store", f.Store(), "--timeout", "1m").Want(t, terminal.ExitFailed)
	}
	p.refuses.Store(false)
	said := commandtest.Run(t, nil, "replay", "batches/a", "--store", f.Store()).Want(t, terminal.ExitDone)
	if got := statuses(f, "batches/a")["publish"]; got != operation.EffectDone ||
		!strings.Contains(said.Out, "asked serve for 1 effect of 1 operation\n1 done") {
		t.Errorf("%s\n%s", got, said.Out)
	}
	s.Stop()
	said = commandtest.Run(t, nil, "replay", "--dead", "--yes", "--store", f.Store()).Want(t, terminal.ExitFailed,
		"not done: no opledger serve runs on this ledger", "start opledger serve --store")
	if got := statuses(f, "batches/b")["publish"]; got != operation.EffectOpen ||
		!strings.Contains(said.Out, "batches/b  publish  open\nleft 1 effect of 1 operation to serve") {
		t.Errorf("without serve: %s\n%s", got, said.Out)
	}
	defer p.serves(t, f, "--schedule=false").Stop()
	commandtest.Run(t, nil, "wait", "batches/b", "--store", f.Store(), "--timeout", "1m").Want(t, terminal.ExitDone)
}

// TestFreshShellReplaysReceiver: replay --receiver in a shell without serve's settings runs nothing where no serve
// runs, and says what to start. With one it counts what serve tried, and what was not tried [L7, G5].
func TestFreshShellReplaysReceiver(t *testing.T) {
	t.Parallel()
	f, p := commandtest.NewFile(t), newPublisher(t)
	p.refuses.Store(true)
	s := p.serves(t, f)
	names := []string{"batches/a", "batches/b", "batches/c", "batches/d"}
	for _, name := range names {
		f.Settle(operation.Key(name), operation.Succeeded, operation.Result{})
		commandtest.Run(t, nil, "register", name, "--store", f.Store()).Want(t, terminal.ExitDone)
	}
	for _, name := range names {
		commandtest.Run(t, nil, "wait", name, "--store", f.Store(), "--timeout", "1m").Want(t, terminal.ExitFailed)
	}
	replay := []string{"replay", "--receiver", strings.TrimPrefix(p.url, "http://"), "--yes", "--store", f.Store()}
	commandtest.Run(t, nil, replay...).Want(t, terminal.ExitFailed, "stopped after 3 of 4: refused for good are ",
		"1 effect was not tried").Says(t, "asked serve for 3 effects of 3 operations\n0 done, 3 dead again, 1 not tried\n")
	s.Stop()
	said := commandtest.Run(t, nil, replay...).Want(t, terminal.ExitFailed, "no opledger serve runs on this ledger",
		"nothing was run of 4 effects of 4 operations: start opledger serve --store "+f.Store())
	if said.Out != "" {
		t.Errorf("without serve it prints %q", said.Out)
	}
	commandtest.Run(t, nil, append(replay, "--dry-run")...).Want(t, terminal.ExitDone).Says(t,
		"would run 4 effects of 4 operations again; nothing was run\n")
	for _, name := range names {
		if got := statuses(f, operation.Key(name))["publish"]; got != operation.EffectDead {
			t.Errorf("without serve %s is %s", name, got)
		}
	}
}

// TestFreshShellReconciles: a pass in a shell without serve's settings and API key is made by serve, also
// where what is set differs; without a serve the command says what it lacks [L7].
func TestFreshShellReconciles(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	sim, variables := commandtest.FakeGemini(t, f)
	name := commandtest.Batch(t, sim, "ended", geminisim.StateSucceeded)
	s := commandtest.Serving(t, append(variables, "OPLEDGER_SERVE_TOKEN="), "--schedule=false")
	commandtest.Run(t, nil, "register", name, "--store", f.Store()).Want(t, terminal.ExitDone)
	here := []string{"OPLEDGER_RETENTION=48h"}
	commandtest.Run(t, here, "reconcile", "--store", f.Store()).Want(t, terminal.ExitDone, "made the pass").Says(t,
		"checked 1: settled 1,")
	commandtest.Run(t, nil, "wait", name, "--store", f.Store(), "--timeout", "1m").Want(t, terminal.ExitDone)
	var summary map[string]any
	commandtest.OneObject(t, commandtest.Run(t, nil, "reconcile", "--json", "--store", f.Store()).Want(t,
		terminal.ExitDone).Out, &summary)
	if summary["due"] != 0.0 {
		t.Errorf("%v", summary)
	}
	commandtest.Run(t, here, "reconcile", "--override-settings", "--store", f.Store()).Want(t, terminal.ExitUsage,
		"GEMINI_API_KEY")
	s.Stop()
	for _, args := range [][]string{{"reconcile"}, {"reconcile", "batches/a"}} {
		commandtest.Run(t, nil, append(args, "--store", f.Store())...).Want(t, terminal.ExitUsage,
			"no opledger serve runs on this ledger: start opledger serve --store "+f.Store()+" with its variables and flags",
			", or give its variables here: GEMINI_API_KEY: it is not set")
	}
	commandtest.Run(t, []string{"GEMINI_API_KEY=k", "OPLEDGER_GRACE=x"}, "reconcile", "--store", f.Store()).Want(t,
		terminal.ExitUsage, "opledger: OPLEDGER_GRACE").Complaint(t)
}

// TestFreshShellAsksGemini: a look-up and a cancellation in a shell without an API key are made by the serve that runs
// on the ledger, and an answer is one; without a serve the command says what to set [L7].
func TestFreshShellAsksGemini(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	sim, variables := commandtest.FakeGemini(t, f)
	name := commandtest.Batch(t, sim, "runs", geminisim.StateRunning)
	f.Register(name, "batches/gone")
	s := commandtest.Serving(t, append(variables, "OPLEDGER_SERVE_TOKEN="), "--schedule=false")
	run := func(args ...string) commandtest.Said {
		return commandtest.Run(t, nil, append(args, "--store", f.Store())...)
	}
	run("reconcile", name).Want(t, terminal.ExitDone, "asked Gemini, with its settings").Says(t,
		name+" is RUNNING at Gemini")
	run("reconcile", "batches/gone").Want(t, terminal.ExitFailed, "looking up batches/gone at Gemini (not-found)")
	run("reconcile", "batches/none").Want(t, terminal.ExitFailed,
		"the ledger has no such operation")
	run("cancel", name, "--by", "kim", "--reason", "wrong").Want(t, terminal.ExitDone).Says(t, "requested by kim at ",
		"Gemini was asked")
	if err := sim.SetState(name, geminisim.StateCancelled); err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	commandtest.OneObject(t, run("reconcile", name, "--json").Want(t, terminal.ExitDone).Out, &answer)
	if answer["operation"] != name || answer["state"] != "CANCELLED" {
		t.Errorf("%v", answer)
	}
	s.Stop()
	for _, args := range [][]string{{"reconcile", name}, {"cancel", name, "--reason", "r"}} {
		run(args...).Want(t, terminal.ExitUsage,
			"no opledger serve runs on this ledger: start opledger serve --store "+f.Store()+" with its variables and flags",
			", or give its variables here: GEMINI_API_KEY: it is not set")
	}
}

// TestFreshShellEndsPause: a shell without serve's settings ends the pause of the serve that runs on the ledger, which
// performs what waited; without a serve status and the command say that one must be started. Effects that no rule is
// for, as after a start of serve without its settings, need an operator until one has theirs [G5].
func TestFreshShellEndsPause(t *testing.T) {
	t.Parallel()
	f, p := commandtest.NewFile(t), newPublisher(t)
	run := func(args ...string) commandtest.Said {
		return commandtest.Run(t, nil, append(args, "--store", f.Store())...)
	}
	reconcile := func(variables ...string) commandtest.Said {
		return commandtest.Run(t, variables, "reconcile", "--store", f.Store()).Want(t, terminal.ExitDone, "made the pass")
	}
	const paused, ignored = "serve runs none until the pause ends; opledger resume --effects --store ",
		"OPLEDGER_EFFECTS_PAUSED counts nothing here: serve runs the effects"
	s := p.servesWith(t, f, "OPLEDGER_EFFECTS_PAUSED=true")
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	run("register", "batches/a").Want(t, terminal.ExitDone)
	reconcile("OPLEDGER_EFFECTS_PAUSED=false").Want(t, terminal.ExitDone, paused+f.Store(), ignored)
	run("status").Want(t, terminal.ExitDone).Says(t, "NEEDS NONE YET", "effects are paused",
		"opledger resume --effects --store "+f.Store())
	s.Stop()
	const start = "without OPLEDGER_EFFECTS_PAUSED"
	run("status").Want(t, terminal.ExitDone).Says(t, "NEEDS NONE YET", "no opledger serve runs on this ledger", start,
		"opledger serve --store "+f.Store())
	run("resume", "--effects").Want(t, terminal.ExitFailed,
		"no opledger serve runs on this ledger: start opledger serve --store "+f.Store()+" with its variables and flags",
		start, "; effects run once it does")
	bare := commandtest.Serving(t, []string{"OPLEDGER_STORE=" + f.Store()}, "--schedule=false")
	run("status").Want(t, terminal.ExitFailed,
		"1 effect of the rule publish waits, and the workers have no such rule: put it back into OPLEDGER_EFFECTS, "+
			"or --forward-to of serve").Says(t,
		"opledger show batches/a", "effects-unknown")
	if _, page := commandtest.Fetch(t, "GET", bare.URL+"/", ""); !strings.Contains(page, "1 effect of the rule publish") {
		t.Errorf("the Overview of serve: %s", page)
	}
	bare.Stop()
	s = p.servesWith(t, f, "OPLEDGER_EFFECTS_PAUSED=true")
	run("resume", "--effects", "jobs/a").Want(t, terminal.ExitUsage, "--effects and no job")
	run("resume", "--effects", "--by", "ann", "--reason", "it is back").Want(t, terminal.ExitDone).Says(t,
		"the pause has ended", "unset OPLEDGER_EFFECTS_PAUSED")
	run("wait", "batches/a", "--timeout", "1m").Want(t, terminal.ExitDone)
	if said := reconcile(); strings.Contains(said.Err, "pause") || strings.Contains(said.Err, "PAUSED") {
		t.Errorf("without a pause: %s", said.Err)
	}
	run("status").Want(t, terminal.ExitDone).Says(t, "nothing needs an operator")
	run("resume", "--effects").Want(t, terminal.ExitDone).Says(t, "serve is not paused",
		"unset OPLEDGER_EFFECTS_PAUSED here")
	commandtest.Run(t, []string{"OPLEDGER_EFFECTS_PAUSED=true"}, "status", "--store", f.Store()).Want(t,
		terminal.ExitDone).Says(t, "the ledger says that effects are run: unset OPLEDGER_EFFECTS_PAUSED here")
	if log := s.Stop(); !strings.Contains(log, `"by":"ann","why":"it is back"`) {
		t.Errorf("serve's log does not say who ended the pause, and why: %s", log)
	}
}

// TestFreshShellReplaysInPause: what is left to a serve that is paused waits for the end of its pause, whatever a
// variable of the command says, and the command does not wait [G5, L7].
func TestFreshShellReplaysInPause(t *testing.T) {
	t.Parallel()
	f, p := commandtest.NewFile(t), newPublisher(t)
	defer p.servesWith(t, f, "OPLEDGER_EFFECTS_PAUSED=true").Stop()
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	commandtest.Run(t, nil, "register", "batches/a", "--store", f.Store()).Want(t, terminal.ExitDone)
	const own = "OPLEDGER_EFFECTS_PAUSED counts nothing here: OPLEDGER_EFFECTS is not set"
	for _, variables := range [][]string{nil, {"OPLEDGER_EFFECTS_PAUSED=false"}} {
		said := commandtest.Run(t, variables, "replay", "batches/a", "--timeout", "1m", "--store", f.Store()).Want(t,
			terminal.ExitDone, "effects are paused, as the ledger says",
			"opledger resume --effects --store "+f.Store()+" ends it").Says(t, "effects are paused: accepted 1 effect")
		if strings.Contains(said.Err, own) != (variables != nil) {
			t.Errorf("%v: %s", variables, said.Err)
		}
		if strings.Contains(said.Err, "PAUSED=false") {
			t.Errorf("%v: it advises what it does not obey: %s", variables, said.Err)
		}
	}
	commandtest.Run(t, nil, "resume", "--effects", "--store", f.Store()).Want(t, terminal.ExitDone)
	commandtest.Run(t, nil, "wait", "batches/a", "--store", f.Store(), "--timeout", "1m").Want(t, terminal.ExitDone)
	commandtest.Run(t, []string{"OPLEDGER_EFFECTS_PAUSED=true"}, "replay", "batches/a", "--rerun", "--yes", "--store",
		f.Store()).Want(t, terminal.ExitDone).Says(t, "1 done")
}

// TestStatusOfServe: status says what the serve that runs on the ledger cannot perform, as the Overview of its console.
func TestStatusOfServe(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	s := commandtest.Serving(t, []string{
		"OPLEDGER_STORE=" + f.Store(),
		"OPLEDGER_EFFECTS=[{name: publish, on: [SUCCEEDED], do: http, url: 'https://127.0.0.1:1/x'}]",
	})
	const says = "the effect publish cannot be performed now: "
	commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, terminal.ExitFailed, says).Says(t, "effects-failing")
	_, page := commandtest.Fetch(t, "GET", s.URL+"/", "")
	if !strings.Contains(page, "The effect publish cannot be performed") {
		t.Errorf("%s", page)
	}
	s.Stop()
	commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, terminal.ExitDone)
}
