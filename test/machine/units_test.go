// Package machine tests infra/machine, what opledger needs to run on one machine for years: the units of systemd as
// they are, and the commands of its page as printed.
package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

const (
	root  = "../.."
	files = root + "/infra/machine"
)

// installed is where the page puts the command.
const installed = "/usr/local/bin/opledger"

// A unit is what a unit's file says.
type unit struct {
	exec        []string // the command line
	environment []string
}

func readUnit(t *testing.T, name string) (u unit) {
	t.Helper()
	for line := range strings.Lines(read(t, name)) {
		line = strings.TrimSpace(line)
		if command, ok := strings.CutPrefix(line, "ExecStart="); ok {
			u.exec = strings.Fields(strings.TrimSuffix(command, " $SERVE_FLAGS")) // none, unless the settings have some
		}
		if variable, ok := strings.CutPrefix(line, "Environment="); ok {
			u.environment = append(u.environment, variable)
		}
	}
	if len(u.exec) == 0 || u.exec[0] != installed {
		t.Fatalf("%s does not run %s: %q", name, installed, u.exec)
	}
	return u
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(files, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestUnits: systemd understands the units, and says that a service can do little more than its work.
func TestUnits(t *testing.T) {
	t.Parallel()
	analyze := harness.Program(t, "systemd-analyze", "the units are not checked")
	folder := t.TempDir()
	entries, err := os.ReadDir(files)
	if err != nil {
		t.Fatal(err)
	}
	var units []string
	for _, entry := range entries {
		if suffix := filepath.Ext(entry.Name()); suffix != ".service" && suffix != ".timer" {
			continue
		}
		unit := filepath.Join(folder, entry.Name())
		text := strings.ReplaceAll(read(t, entry.Name()), installed, "/bin/true") // it looks for the command
		if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		units = append(units, unit)
	}
	if len(units) != 3 {
		t.Fatalf("the units are %q", units)
	}
	out, err := exec.Command(analyze, append([]string{"verify", "--man=no"}, units...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("systemd does not take them: %v\n%s", err, out)
	}
	const most = "15" // 1.5 of 10
	for _, unit := range slices.DeleteFunc(units, func(unit string) bool { return filepath.Ext(unit) != ".service" }) {
		out, err := exec.Command(analyze, "security", "--offline=yes", "--threshold="+most, unit).CombinedOutput()
		if err != nil {
			t.Errorf("a service may do more than it must: %v\n%s", err, out)
		}
	}
}
