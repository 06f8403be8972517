package gcloud

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// root is the source tree.
var root = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	return strings.TrimSpace(string(out)), err
})

// tables is what scripts/stage/tables prints.
var tables = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "run", "github.com/opledger/opledger/scripts/stage/tables").Output()
	return string(out), err
})

// table returns the entries of one kind, each split into its fields.
func table(t *testing.T, kind string) (entries [][]string) {
	t.Helper()
	text, err := tables()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); fields[0] == kind {
			entries = append(entries, fields[1:])
		}
	}
	return entries
}

// A run is what came of running a script.
type run struct {
	code        int
	out, stderr string
	calls       []call
}

// bash runs a script of bash in a world, with what is typed.
func bash(t *testing.T, w world, typed string, args ...string) run {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := tables()
	if err != nil {
		t.Fatal(err)
	}
	w = append(w[:len(w):len(w)], rule{Pattern: `^go run \./scripts/stage/tables$`, Out: text})
	encoded, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	worldFile, callsFile := filepath.Join(bin, "world.json"), filepath.Join(bin, "calls.json")
	if err := os.WriteFile(worldFile, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gcloud", "curl", "go"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "bash", args...)
	command.Dir = dir
	// A program with the race detector in it sleeps for a second before it ends unless told otherwise.
	command.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", envWorld + "=" + worldFile, envCalls + "=" + callsFile, "GORACE=atexit_sleep_ms=0"}
	command.Stdin = strings.NewReader(typed)
	var out, stderr bytes.Buffer
	command.Stdout, command.Stderr = &out, &stderr
	r := run{}
	if err := command.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
		r.code = exit.ExitCode()
	}
	r.out, r.stderr, r.calls = out.String(), stderr.String(), calls(t, callsFile)
	return r
}

// calls returns what the pretended programs wrote down, less the reading of the tables, which nothing depends on.
func calls(t *testing.T, file string) (all []call) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var c call
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if c.Line != "go run ./scripts/stage/tables" {
			all = append(all, c)
		}
	}
	return all
}

// want checks the exit code.
func (r run) want(t *testing.T, code int) run {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.out, r.stderr)
	}
	return r
}

func (r run) lines() (lines []string) {
	for _, c := range r.calls {
		lines = append(lines, c.Line)
	}
	return lines
}

// matching returns the calls that hold every one of some texts.
func (r run) matching(texts ...string) (found []call) {
next:
	for _, c := range r.calls {
		for _, text := range texts {
			if !strings.Contains(c.Line, text) {
				continue next
			}
		}
		found = append(found, c)
	}
	return found
}

// flag returns the value of a flag of the form --name=value.
func (c call) flag(name string) string {
	for _, arg := range c.Args {
		if value, ok := strings.CutPrefix(arg, name+"="); ok {
			return value
		}
	}
	return ""
}
