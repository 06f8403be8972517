package open_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
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
	said = commandtest.Run(t, nil, "replay", "--dead", "--yes", "--store", f.Store()).Want(t, terminal.ExitDone,
		"no opledger serve runs on this ledger")
	if got := statuses(f, "batches/b")["publish"]; got != operation.EffectOpen ||
		!strings.Contains(said.Out, "batches/b  publish  open\nleft 1 effect of 1 operation to serve") {
		t.Errorf("without serve: %s\n%s", got, said.Out)
	}
	defer p.serves(t, f, "--schedule=false").Stop()
	commandtest.Run(t, nil, "wait", "batches/b", "--store", f.Store(), "--timeout", "1m").Want(t, terminal.ExitDone)
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
	commandtest.Run(t, nil, "reconcile", "--store", f.Store()).Want(t, terminal.ExitUsage, "GEMINI_API_KEY")
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
		run(args...).Want(t, terminal.ExitUsage, "GEMINI_API_KEY: it is not set")
	}
}

// TestFreshShellEndsPause: a shell without serve's settings ends the pause of the serve that runs on the ledger, which
// performs what waited; without a serve the command says how. Effects that no rule is for, as after a start of serve
// without its settings, need an operator until one has theirs [G5].
func TestFreshShellEndsPause(t *testing.T) {
	t.Parallel()
	f, p := commandtest.NewFile(t), newPublisher(t)
	run := func(args ...string) commandtest.Said {
		return commandtest.Run(t, nil, append(args, "--store", f.Store())...)
	}
	s := p.servesWith(t, f, "OPLEDGER_EFFECTS_PAUSED=true")
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	run("register", "batches/a").Want(t, terminal.ExitDone)
	run("status").Want(t, terminal.ExitDone).Says(t, "NEEDS NONE YET", "effects are paused",
		"opledger resume --effects --store "+f.Store())
	s.Stop()
	run("resume", "--effects").Want(t, terminal.ExitFailed,
		"no opledger serve runs on this ledger: start it with its variables")
	bare := commandtest.Serving(t, []string{"OPLEDGER_STORE=" + f.Store()}, "--schedule=false")
	run("status").Want(t, terminal.ExitFailed,
		"1 effect of the rule publish wait, and OPLEDGER_EFFECTS of the workers has no such rule").Says(t,
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
	run("status").Want(t, terminal.ExitDone).Says(t, "nothing needs an operator")
	run("resume", "--effects").Want(t, terminal.ExitDone).Says(t, "serve is not paused",
		"unset OPLEDGER_EFFECTS_PAUSED here")
	commandtest.Run(t, []string{"OPLEDGER_EFFECTS_PAUSED=true"}, "status", "--store", f.Store()).Want(t,
		terminal.ExitDone).Says(t, "the ledger says that effects are run: unset OPLEDGER_EFFECTS_PAUSED here")
	if log := s.Stop(); !strings.Contains(log, `"by":"ann","why":"it is back"`) {
		t.Errorf("serve's log does not say who ended the pause, and why: %s", log)
	}
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

// TestReadersTakeSettings: status, show and the console judge by what the ledger has stored, where a variable
// does not say otherwise [L7].
func TestReadersTakeSettings(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	_, variables := commandtest.FakeGemini(t, f)
	s := commandtest.Serving(t, append(variables, "OPLEDGER_INTERVAL=20ms", "OPLEDGER_MAX_ATTEMPTS=33",
		"OPLEDGER_RETRY_FOR=5h"),
		"--schedule=false")
	commandtest.Run(t, nil, "reconcile", "--store", f.Store()).Want(t, terminal.ExitDone)
	s.Stop()
	f.With(func(ctx context.Context, l *ledger.Ledger) error { // the pass is three intervals old
		for {
			last, now, err := l.Passes.Last(ctx)
			if err != nil || now.Sub(last.Ended) > 60*time.Millisecond {
				return err
			}
		}
	})
	const late = "last pass ended"
	commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, terminal.ExitFailed, late)
	own := []string{"OPLEDGER_INTERVAL=1h", "OPLEDGER_MAX_ATTEMPTS=44"}
	commandtest.Run(t, own, "status", "--store", f.Store()).Want(t, terminal.ExitDone)

	f.Dead("batches/a")
	commandtest.Run(t, nil, "show", "batches/a", "--json", "--store", f.Store()).Want(t, terminal.ExitDone).Says(t,
		`"maxAttempts": 33`)
	commandtest.Run(t, own, "show", "batches/a", "--json", "--store", f.Store()).Want(t, terminal.ExitDone).Says(t,
		`"maxAttempts": 44`)
	for _, args := range [][]string{nil, {"--allow-actions"}} {
		url, stop := commandtest.ConsoleOver(t, f, nil, args...)
		_, first := commandtest.Fetch(t, "GET", url+"/", "")
		_, settings := commandtest.Fetch(t, "GET", url+"/console/settings", "")
		if stop(); !strings.Contains(first, late) || !strings.Contains(settings, "<dd>20ms</dd>") {
			t.Errorf("%v: late %v: %s", args, strings.Contains(first, late), settings)
		}
	}
	for _, args := range [][]string{nil, {"--allow-actions", "--override-settings"}} {
		url, stop := commandtest.ConsoleOver(t, f, own, args...)
		_, first := commandtest.Fetch(t, "GET", url+"/", "")
		said := stop()
		if strings.Contains(first, late) || !strings.Contains(said, "OPLEDGER_INTERVAL: it is 1h0m0s here, and 20ms in") {
			t.Errorf("%v: late %v: %s", args, strings.Contains(first, late), said)
		}
	}
}

// TestReadersTakeStuckAfter: list and status judge what is late alike, by the ledger's own
// OPLEDGER_STUCK_AFTER, whatever is set here; a value that is no good is refused [L7, R4]. Where none is
// stored, what is late by both is: by the setting here, and by that of the command which registered.
func TestReadersTakeStuckAfter(t *testing.T) {
	t.Parallel()
	const ownCounts = "what the ledger has stored decides what is late"
	for _, c := range []struct {
		name, stored string
		late         bool
	}{
		{"batches/a", "1h", true}, {"batches/a", "12h", false}, {"models/veo/operations/v", "48h", false},
		{"batches/a", "", false},
	} {
		f := commandtest.NewFile(t)
		f.With(func(context.Context, *ledger.Ledger) error { return nil })
		if c.stored != "" {
			_, variables := commandtest.FakeGemini(t, f)
			commandtest.Serving(t, append(variables, "OPLEDGER_STUCK_AFTER="+c.stored), "--schedule=false").Stop()
		}
		submitted := time.Now().Add(-10 * time.Hour).Format(time.RFC3339)
		commandtest.Run(t, nil, "register", c.name, "--submitted-at", submitted, "--store", f.Store()).Want(t,
			terminal.ExitDone)
		for _, here := range []string{"", "1h", "12h", "48h"} {
			set := []string{"OPLEDGER_STUCK_AFTER=" + here}
			list := commandtest.Run(t, set, "list", "--late", "--store", f.Store()).Want(t, terminal.ExitDone)
			status := commandtest.Run(t, set, "status", "--store", f.Store())
			none := strings.Contains(list.Out, "no operation is pending")
			if none == c.late || strings.Contains(status.Out, "for too long") != c.late {
				t.Errorf("%s, stored %q, set %q: %s%s", c.name, c.stored, here, list.Out, status.Out)
			}
			differs := c.stored != "" && here != "" && here != c.stored
			if strings.Contains(list.Err, ownCounts) != differs || strings.Contains(status.Err, ownCounts) != differs {
				t.Errorf("%s, stored %q, set %q: %s%s", c.name, c.stored, here, list.Err, status.Err)
			}
		}
		commandtest.Run(t, []string{"OPLEDGER_STUCK_AFTER=-1h"}, "list", "--store", f.Store()).Want(t,
			terminal.ExitUsage, "OPLEDGER_STUCK_AFTER")
	}
}

// TestSettingsThatDiffer: a command with other settings than the ledger's writes nothing and says what
// differs; --override-settings writes all the same, and a command that only reads does not mind [L7].
func TestSettingsThatDiffer(t *testing.T) {
	t.Parallel()
	f, p := commandtest.NewFile(t), newPublisher(t)
	p.serves(t, f).Stop()
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	differs := []string{"OPLEDGER_RETENTION=48h", "OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED], do: log}]"}
	for _, args := range [][]string{
		{"register", "batches/a"}, {"abandon", "batches/a", "--reason", "r"}, {"replay", "batches/a"},
	} {
		s := commandtest.Run(t, differs, append(args, "--store", f.Store())...).Want(t, terminal.ExitUsage,
			"OPLEDGER_RETENTION: it is 48h0m0s here, and 72h0m0s in the ledger",
			"OPLEDGER_EFFECTS: it lacks publish, which the ledger has", "--override-settings")
		if s.Complaint(t); s.Out != "" {
			t.Errorf("%v: %s", args, s.Out)
		}
	}
	if got := statuses(f, "batches/a"); len(got) != 0 {
		t.Errorf("planned %v", got)
	}
	commandtest.Run(t, differs, "replay", "--dead", "--dry-run", "--store", f.Store()).Want(t, terminal.ExitDone)
	commandtest.Run(t, differs, "register", "batches/a", "--override-settings", "--store", f.Store()).Want(t,
		terminal.ExitDone)
	if got := statuses(f, "batches/a"); got["log"] != operation.EffectDone {
		t.Errorf("with what is set here: %v", got)
	}
}

// TestSettingsUnreadable: where what the ledger has stored cannot be read, a command that writes does not,
// unless it is to override it. That command, and one that only reads, take nothing of it, and say so [L7].
func TestSettingsUnreadable(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	store, err := sqlite.Open(t.Context(), f.Path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Commit(t.Context(), ledger.Write{Path: ledger.SettingsCollection + "/planning", Data: struct {
		Digest   string        `json:"digest"`
		Rules    []ledger.Rule `json:"rules"`
		StoredBy int           `json:"storedBy"`
	}{"d", []ledger.Rule{{Name: "publish", On: []operation.State{operation.Succeeded}}}, 5}})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	const says = "settings/planning"
	run := func(code int, args ...string) commandtest.Said {
		t.Helper()
		s := commandtest.Run(t, nil, append(args, "--store", f.Store())...).Want(t, code, says)
		if defaults := strings.Contains(s.Err, "what is set here counts, and the defaults"); defaults != (code == 0) {
			t.Errorf("%q: %s", args, s.Err)
		}
		return s
	}
	run(terminal.ExitUnread, "register", "batches/a").Want(t, terminal.ExitUnread, "--override-settings does without it")
	for _, args := range [][]string{
		{"replay", "--dead", "--dry-run"}, {"status"}, {"register", "batches/a", "--override-settings"},
	} {
		if s := run(terminal.ExitDone, args...); strings.Contains(s.Err, "publish") {
			t.Errorf("%q takes a part of it: %s", args, s.Err)
		}
	}
}
