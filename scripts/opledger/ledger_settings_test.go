package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
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
func (p *publisher) serves(t *testing.T, f file, args ...string) served {
	t.Helper()
	return serving(t, []string{
		"OPLEDGER_STORE=" + f.store(), "OPLEDGER_EFFECT_ALLOW_PRIVATE=true", "OPLEDGER_RETENTION=72h",
		"OPLEDGER_SERVE_TOKEN=", // it makes one
		"OPLEDGER_EFFECTS=[{name: publish, on: [SUCCEEDED], do: http, url: '" + p.url + "/secret-path'}]",
	}, args...)
}

// statuses are the effects of an operation, by name.
func (f file) statuses(key operation.Key) (statuses map[string]operation.EffectStatus) {
	f.t.Helper()
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		rec, err := l.Record(ctx, key)
		statuses = rec.Effects
		return err
	})
	return statuses
}

// TestFreshShellPlans: register in a shell without serve's settings plans what serve would plan, and
// serve performs it; without a serve it stays open until one starts [L7].
func TestFreshShellPlans(t *testing.T) {
	t.Parallel()
	f, p := newFile(t), newPublisher(t)
	s := p.serves(t, f)
	for _, key := range []operation.Key{"batches/a", "batches/b"} {
		f.settle(key, operation.Succeeded, operation.Result{})
	}
	said := cli(t, nil, "register", "batches/a", "--store", f.store()).want(t, exitDone,
		"effects that may be planned: publish (as serve has stored them")
	if strings.Contains(said.err, "secret-path") {
		t.Errorf("it prints a URL: %s", said.err)
	}
	cli(t, nil, "wait", "batches/a", "--store", f.store(), "--timeout", "1m").want(t, exitDone)
	if got := f.statuses("batches/a"); len(got) != 1 || got["publish"] != operation.EffectDone || p.accepted.Load() != 1 {
		t.Errorf("%v, accepted %d", got, p.accepted.Load())
	}
	s.stop()
	cli(t, nil, "register", "batches/b", "--store", f.store()).want(t, exitDone, "no opledger serve runs on this ledger")
	if got := f.statuses("batches/b"); len(got) != 1 || got["publish"] != operation.EffectOpen {
		t.Errorf("without serve: %v", got)
	}
	defer p.serves(t, f, "--schedule=false").stop()
	cli(t, nil, "wait", "batches/b", "--store", f.store(), "--timeout", "1m").want(t, exitDone)
	if text, err := os.ReadFile(f.path); err != nil || strings.Contains(string(text), "secret-path") {
		t.Errorf("the ledger holds a URL: %v", err)
	}
}

// TestFreshShellReplays: replay in a shell without serve's settings has serve run the effect, and waits
// for its outcome; without a serve it leaves the effect open for one [L7, G5].
func TestFreshShellReplays(t *testing.T) {
	t.Parallel()
	f, p := newFile(t), newPublisher(t)
	p.refuses.Store(true)
	s := p.serves(t, f)
	for _, name := range []string{"batches/a", "batches/b"} {
		f.settle(operation.Key(name), operation.Succeeded, operation.Result{})
		cli(t, nil, "register", name, "--store", f.store()).want(t, exitDone)
		cli(t, nil, "wait", name, "--store", f.store(), "--timeout", "1m").want(t, exitFailed)
	}
	p.refuses.Store(false)
	said := cli(t, nil, "replay", "batches/a", "--store", f.store()).want(t, exitDone)
	if got := f.statuses("batches/a")["publish"]; got != operation.EffectDone ||
		!strings.Contains(said.out, "asked serve for 1 effect of 1 operation\n1 done") {
		t.Errorf("%s\n%s", got, said.out)
	}
	s.stop()
	said = cli(t, nil, "replay", "--dead", "--yes", "--store", f.store()).want(t, exitDone,
		"no opledger serve runs on this ledger")
	if got := f.statuses("batches/b")["publish"]; got != operation.EffectOpen ||
		!strings.Contains(said.out, "batches/b  publish  open\nleft 1 effect of 1 operation to serve") {
		t.Errorf("without serve: %s\n%s", got, said.out)
	}
	defer p.serves(t, f, "--schedule=false").stop()
	cli(t, nil, "wait", "batches/b", "--store", f.store(), "--timeout", "1m").want(t, exitDone)
}

// TestFreshShellReconciles: a pass in a shell without serve's settings and API key is made by serve, also
// where what is set differs; without a serve the command says what it lacks [L7].
func TestFreshShellReconciles(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	sim, variables := fakeGemini(t, f)
	name := batch(t, sim, "ended", geminisim.StateSucceeded)
	s := serving(t, append(variables, "OPLEDGER_SERVE_TOKEN="), "--schedule=false")
	cli(t, nil, "register", name, "--store", f.store()).want(t, exitDone)
	here := []string{"OPLEDGER_RETENTION=48h"}
	cli(t, here, "reconcile", "--store", f.store()).want(t, exitDone, "made the pass").says(t, "checked 1: settled 1,")
	cli(t, nil, "wait", name, "--store", f.store(), "--timeout", "1m").want(t, exitDone)
	var summary map[string]any
	oneObject(t, cli(t, nil, "reconcile", "--json", "--store", f.store()).want(t, exitDone).out, &summary)
	if summary["due"] != 0.0 {
		t.Errorf("%v", summary)
	}
	cli(t, here, "reconcile", "--override-settings", "--store", f.store()).want(t, exitUsage, "GEMINI_API_KEY")
	s.stop()
	cli(t, nil, "reconcile", "--store", f.store()).want(t, exitUsage, "GEMINI_API_KEY")
}

// TestReadersTakeSettings: status, show and the console judge by what the ledger has stored, where a variable
// does not say otherwise [L7].
func TestReadersTakeSettings(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	_, variables := fakeGemini(t, f)
	s := serving(t, append(variables, "OPLEDGER_INTERVAL=20ms", "OPLEDGER_MAX_ATTEMPTS=33", "OPLEDGER_RETRY_FOR=5h"),
		"--schedule=false")
	cli(t, nil, "reconcile", "--store", f.store()).want(t, exitDone)
	s.stop()
	f.with(func(ctx context.Context, l *ledger.Ledger) error { // the pass is three intervals old
		for {
			last, now, err := l.LastPass(ctx)
			if err != nil || now.Sub(last.Ended) > 60*time.Millisecond {
				return err
			}
		}
	})
	const late = "last pass ended"
	cli(t, nil, "status", "--store", f.store()).want(t, exitFailed, late)
	own := []string{"OPLEDGER_INTERVAL=1h", "OPLEDGER_MAX_ATTEMPTS=44"}
	cli(t, own, "status", "--store", f.store()).want(t, exitDone)

	f.dead("batches/a")
	cli(t, nil, "show", "batches/a", "--json", "--store", f.store()).want(t, exitDone).says(t, `"maxAttempts": 33`)
	cli(t, own, "show", "batches/a", "--json", "--store", f.store()).want(t, exitDone).says(t, `"maxAttempts": 44`)
	for _, args := range [][]string{nil, {"--allow-actions"}} {
		url, stop := consoleOver(t, f, nil, args...)
		_, first := fetch(t, "GET", url+"/", "")
		_, settings := fetch(t, "GET", url+"/console/settings", "")
		if stop(); !strings.Contains(first, late) || !strings.Contains(settings, "<dd>20ms</dd>") {
			t.Errorf("%v: late %v: %s", args, strings.Contains(first, late), settings)
		}
	}
	for _, args := range [][]string{nil, {"--allow-actions", "--override-settings"}} {
		url, stop := consoleOver(t, f, own, args...)
		_, first := fetch(t, "GET", url+"/", "")
		said := stop()
		if strings.Contains(first, late) || !strings.Contains(said, "OPLEDGER_INTERVAL: it is 1h0m0s here, and 20ms in") {
			t.Errorf("%v: late %v: %s", args, strings.Contains(first, late), said)
		}
	}
}

// TestSettingsThatDiffer: a command with other settings than the ledger's writes nothing and says what
// differs; --override-settings writes all the same, and a command that only reads does not mind [L7].
func TestSettingsThatDiffer(t *testing.T) {
	t.Parallel()
	f, p := newFile(t), newPublisher(t)
	p.serves(t, f).stop()
	f.settle("batches/a", operation.Succeeded, operation.Result{})
	differs := []string{"OPLEDGER_RETENTION=48h", "OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED], do: log}]"}
	for _, args := range [][]string{
		{"register", "batches/a"}, {"abandon", "batches/a", "--reason", "r"}, {"replay", "batches/a"},
	} {
		s := cli(t, differs, append(args, "--store", f.store())...).want(t, exitUsage,
			"OPLEDGER_RETENTION: it is 48h0m0s here, and 72h0m0s in the ledger",
			"OPLEDGER_EFFECTS: it lacks publish, which the ledger has", "--override-settings")
		if s.complaint(t); s.out != "" {
			t.Errorf("%v: %s", args, s.out)
		}
	}
	if got := f.statuses("batches/a"); len(got) != 0 {
		t.Errorf("planned %v", got)
	}
	cli(t, differs, "replay", "--dead", "--dry-run", "--store", f.store()).want(t, exitDone)
	cli(t, differs, "register", "batches/a", "--override-settings", "--store", f.store()).want(t, exitDone)
	if got := f.statuses("batches/a"); got["log"] != operation.EffectDone {
		t.Errorf("with what is set here: %v", got)
	}
}
