package gcloud

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// root is the source tree. The test itself reads the files that bash reads, so that go does not
// reuse a cached result after a change in them.
var root = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs("../../..")
	for _, pattern := range []string{"scripts/*.sh", "scripts/deploy", "scripts/doctor", "scripts/takeover",
		"scripts/teardown", "scripts/stage/*/*.go", "infra/*.json", "infra/*.txt", "test/staging/gcloud/testdata/key",
		"test/staging/gcloud/testdata/*.sh", "test/staging/gcloud/testdata/bin/*"} {
		paths, globErr := filepath.Glob(filepath.Join(dir, pattern))
		err = errors.Join(err, globErr)
		for _, path := range paths {
			_, readErr := os.ReadFile(path)
			err = errors.Join(err, readErr)
		}
	}
	return dir, err
})

// programs is a folder with ask and check, the real programs of scripts/stage, each built once.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "opledger-gcloud-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

func built(name string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		path := filepath.Join(programs, name)
		return path, harness.Build("../../..", "./scripts/stage/"+name, path)
	})
}

var asking, checking = built("ask"), built("check")

// tables is the output of scripts/stage/ask tables.
var tables = sync.OnceValues(func() (string, error) {
	program, err := asking()
	if err != nil {
		return "", err
	}
	out, err := exec.Command(program, "tables").Output()
	return string(out), err
})

// withOnly returns the world in which the tables have, besides the settings, only entries that begin
// with one of these: a kind, or a kind and its first fields. A script does something for each of two
// hundred entries, which a test of one thing need not pay for.
func (w world) withOnly(t *testing.T, beginnings ...string) world {
	t.Helper()
	beginnings = append(beginnings, "setting", "command")
	return w.withEntries(t, func(line string) bool {
		return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(line, b) })
	})
}

// withFew returns the world in which the tables have two entries of each form that a script handles
// like all others of that form: what they prove, the rest would prove again. That a script
// handles every entry, the tests show whose worlds have the whole tables: at night these, too.
func (w world) withFew(t *testing.T) world {
	t.Helper()
	if harness.Soak(t, false, true, true) {
		return w
	}
	entries := map[string]int{} // by form
	return w.withEntries(t, func(line string) bool {
		form, _, _ := strings.Cut(line, " ")
		switch form {
		case "index", "field", "unindexed", "expiry", "metric", "policy":
		default:
			return true
		}
		entries[form]++
		return entries[form] <= 2
	})
}

// withEntries returns the world in which the tables have only the entries that are wanted.
func (w world) withEntries(t *testing.T, wanted func(line string) bool) world {
	t.Helper()
	text, err := tables()
	if err != nil {
		t.Fatal(err)
	}
	var some strings.Builder
	for line := range strings.Lines(text) {
		if wanted(line) {
			some.WriteString(line)
		}
	}
	return append(world{{Pattern: askTables, Out: some.String()}}, w...)
}

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
	checked     []call // of settings, which comes before everything else
	asked       []call // who asks Gemini, of which the same is true
}

// bash runs a script of bash in the source tree and in a world, with this input.
func bash(t *testing.T, w world, typed string, args ...string) run {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	return bashIn(t, dir, w, typed, args...)
}

func bashIn(t *testing.T, dir string, w world, typed string, args ...string) run {
	t.Helper()
	text, err := tables()
	if err != nil {
		t.Fatal(err)
	}
	w = append(w[:len(w):len(w)],
		rule{Pattern: askTables, Out: text},
		rule{Pattern: `^` + needs + `$`, Out: "webhook\nreconcile\neffects\nsecret " + ownSecret + "\n"})
	folder := t.TempDir()
	command := exec.CommandContext(t.Context(), "bash", args...)
	command.Dir, command.Env = dir, w.pretend(t, folder)
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
	r.out, r.stderr = out.String(), stderr.String()
	for _, c := range calls(t, folder) {
		switch {
		case c.Line == "go run ./scripts/stage/ask tables", c.Line == masked: // which nothing depends on
		case c.Line == needs:
			r.asked = append(r.asked, c)
		case strings.HasPrefix(c.Line, check):
			if len(r.calls) != 0 {
				t.Errorf("the settings were checked after %q", r.lines())
			}
			r.checked = append(r.checked, c)
		default:
			r.calls = append(r.calls, c)
		}
	}
	return r
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

// matching returns the calls that contain all of these texts.
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
