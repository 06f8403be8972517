package serve_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/serve"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestServeFlagsRefused: flags that do not go together, or that would mix a simulation with something
// real, are refused with what to do, before a port or a ledger is opened.
func TestServeFlagsRefused(t *testing.T) {
	t.Parallel()
	const entry = `{name: forward, on: [SUCCEEDED, FAILED, CANCELLED, EXPIRED], do: http, url: "https://me.example/"}`
	for _, c := range []struct {
		set, args []string
		want      string
	}{
		{nil, []string{"--speed", "10"}, "--speed: it is for --simulate, which is not given"},
		{nil, []string{"--faults", "none"}, "--faults: it is for --simulate, which is not given"},
		{nil, []string{"--simulate-port", "0"}, "--simulate-port: it is for --simulate, which is not given"},
		{nil, []string{"--simulate", "--speed", "0.5"}, "--speed: it must be from 1 to 1000, not 0.5"},
		{nil, []string{"--simulate", "--faults", "bad"}, `--faults: it must be none, normal or harsh, not "bad"`},
		{nil, []string{"--simulate", "--simulate-port", "70000"}, "--simulate-port: it must be from 0 to 65535, not 70000"},
		{nil, []string{"--simulate", "--store", "firestore"}, `--store: with --simulate it must be a file, such as ` +
			`sqlite:demo.db, not "firestore": simulated operations do not belong in a deployment's ledger`},
		{[]string{"OPLEDGER_GRACE=soon"}, []string{"--simulate"}, `OPLEDGER_GRACE: "soon" is not a duration`},
		{nil, []string{"--forward-to", "me.example"}, "--forward-to: it must be the URL to post effects to, such as "},
		{nil, []string{"--forward-to", "http://me.example/"}, "--forward-to: plain http is for this machine only"},
		{[]string{"OPLEDGER_EFFECTS=[{name: a, on: [FAILED], do: log}]"}, []string{"--forward-to", "https://me.example/"},
			"--forward-to: OPLEDGER_EFFECTS is set too; unset it, or add this to it and leave the flag out: " + entry},
	} {
		file := filepath.Join(t.TempDir(), "ledger.db")
		set := append(c.set, "GEMINI_API_KEY=k", "OPLEDGER_STORE=sqlite:"+file)
		got := commandtest.Run(t, set, append([]string{"serve", "--port", "0"}, c.args...)...).Want(t, terminal.ExitUsage)
		if said := got.Complaint(t); !strings.HasPrefix(said, c.want) {
			t.Errorf("%q: %s, want %s", c.args, said, c.want)
		}
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: a ledger was made: %v", c.args, err)
		}
	}
}

// TestForwardSettings: --forward-to stands for one effect. A secret is made where there is none, and
// private addresses are allowed for this machine alone.
func TestForwardSettings(t *testing.T) {
	t.Parallel()
	const here, there = "http://localhost:9/hook", "https://me.example/hook"
	set := serve.ForwardSettings(nil, here)
	if len(set) != 3 || set[0] != serve.ForwardEffects(here) ||
		!strings.HasPrefix(set[1], "OPLEDGER_EFFECT_SECRET=whsec_") ||
		set[2] != "OPLEDGER_EFFECT_ALLOW_PRIVATE=true" {
		t.Errorf("%q", set)
	}
	if again := serve.ForwardSettings(nil, here); again[1] == set[1] {
		t.Error("the same secret twice")
	}
	if set := serve.ForwardSettings([]string{"OPLEDGER_EFFECT_SECRET=" + commandtest.DeliverSecret},
		there); !slices.Equal(set,
		[]string{serve.ForwardEffects(there)}) {
		t.Errorf("%q", set)
	}
	if err := serve.CheckForward(here, set); err != nil {
		t.Errorf("what it stands for itself is refused: %v", err)
	}
	if set := serve.ForwardSettings(nil, ""); set != nil {
		t.Errorf("%q without the flag", set)
	}
}

// TestForwardWithoutSimulation: a secret that is made is printed once, and one that is given is not.
func TestForwardWithoutSimulation(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"", commandtest.DeliverSecret} {
		s := commandtest.Serving(t, []string{"OPLEDGER_EFFECT_SECRET=" + given}, "--forward-to", "http://127.0.0.1:9/hook")
		text := strings.Join(s.Lines[1:], "\n")
		if !strings.HasPrefix(text, "each operation that ends is posted to http://127.0.0.1:9/hook, signed with ") ||
			strings.Contains(text, "whsec_") != (given == "") || strings.Contains(text, commandtest.DeliverSecret) {
			t.Errorf("%q", text)
		}
		if log := s.Stop(); strings.Contains(log, "whsec_") {
			t.Errorf("the secret is logged: %s", log)
		}
	}
}
