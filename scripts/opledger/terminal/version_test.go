package terminal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/harness"
)

// TestVersion: which build it is, in words.
func TestVersion(t *testing.T) {
	t.Parallel()
	of := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	commit, at := debug.BuildSetting{Key: "vcs.revision", Value: "0123abc"}, debug.BuildSetting{Key: "vcs.time",
		Value: "2026-11-21T02:00:00Z"}
	for want, info := range map[string]*debug.BuildInfo{
		"(unknown)": of(""),
		"(devel)":   of("(devel)", debug.BuildSetting{Key: "GOOS", Value: "linux"}),
		"v1.2.3":    of("v1.2.3"),
		"v1.2.3 (commit 0123abc, 2026-11-21T02:00:00Z)": of("v1.2.3", commit, at,
			debug.BuildSetting{Key: "vcs.modified", Value: "false"}),
		"(devel) (commit 0123abc, with changes)": of("(devel)", commit,
			debug.BuildSetting{Key: "vcs.modified", Value: "true"}),
	} {
		if got := terminal.VersionOf(info, true); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := terminal.VersionOf(nil, false); got != "(unknown)" {
		t.Error(got)
	}
}

// TestVersionOfABuild: a build from a clone says its commit. `go install` of a tagged version, which
// has none, says the version; it needs a go.mod that replaces and excludes nothing.
func TestVersionOfABuild(t *testing.T) {
	t.Parallel()
	if git, err := os.Stat("../../../.git"); err != nil || !git.IsDir() { // go build reads no work tree of another clone
		harness.Missing(t, "this is no clone of its own: a build says no commit")
	}
	head, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "opledger-of-a-commit")
	if err := harness.Build("", "..", binary, "-buildvcs=true"); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(binary, "--version").CombinedOutput()
	want := `^opledger v\d\S* \(commit ` + strings.TrimSpace(string(head)) + `, \S+Z(, with changes)?\)\n$`
	if err != nil || !regexp.MustCompile(want).Match(said) {
		t.Errorf("%q, %v, want %s", said, err, want)
	}
	text, err := os.ReadFile("../../../go.mod")
	if err != nil || regexp.MustCompile(`(?m)^\s*(replace|exclude)\b`).Match(text) {
		t.Errorf("go install refuses this go.mod: %v\n%s", err, text)
	}
}
