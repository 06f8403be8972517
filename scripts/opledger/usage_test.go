package main

import (
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestUsageTexts: what was typed wrongly is said in one line of our own words, with what there is
// and where to read on.
func TestUsageTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"lst"}, `there is no command "lst"; did you mean list? See opledger --help`},
		{[]string{"frobnicate"}, `there is no command "frobnicate"; see opledger --help`},
		{[]string{"submit", "bach"}, `there is no command "bach"; did you mean batch? See opledger submit --help`},
		{[]string{"webhook", "rotat", "x"}, `there is no command "rotat"; did you mean rotate? See opledger webhook --help`},
		{[]string{"list", "--pendin"}, `there is no flag --pendin; did you mean --pending? See opledger list --help`},
		{[]string{"--frobnicate"}, `there is no flag --frobnicate; see opledger --help`},
		{[]string{"list", "-x"}, `there is no flag -x; see opledger list --help`},
		{[]string{"list", "--limit", "many"}, `--limit: it must be a whole number, not "many"; see opledger list --help`},
		{[]string{"local", "--speed", "fast"}, `--speed: it must be a number, not "fast"; see opledger local --help`},
		{[]string{
			"local", "--seed", "-1",
		}, `--seed: it must be a whole number that is not below zero, not "-1"; see opledger local --help`},
		{[]string{
			"list", "--pending=perhaps",
		}, `--pending: it must be true or false, not "perhaps"; see opledger list --help`},
		{[]string{"list", "--limit"}, `--limit: it needs a value, a whole number; see opledger list --help`},
		{[]string{"list", "--store"}, `--store: it needs a value, a text; see opledger list --help`},
		{[]string{"list", "--intents", "--pending"},
			`--intents and --pending cannot be used together; choose one; see opledger list --help`},
		{[]string{
			"list", "batches/a",
		}, `it is used as "opledger list [flags]", and was given "batches/a"; see opledger list --help`},
		{[]string{"show"}, `it is used as "opledger show NAME [flags]", and was given no argument; see opledger show --help`},
		{[]string{
			"show", "a\x1b[2J", "b",
		}, `it is used as "opledger show NAME [flags]", and was given "a\x1b[2J" "b"; see opledger show --help`},
		{[]string{"register", "batch/zzz"}, `name: "batch/zzz" is in no collection that there is; did you mean batches/zzz?`},
	} {
		s := cli(t, nil, c.args...).want(t, exitUsage)
		if got := s.complaint(t); got != c.want || s.out != "" {
			t.Errorf("%v: %s, want %s; on stdout %q", c.args, got, c.want, s.out)
		}
	}
}

// TestManyProblems: one problem of what was typed or set is one line; several are one line each,
// below one that counts them.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	s := cli(t, []string{"OPLEDGER_GRACE=soon", "OPLEDGER_MAX_ATTEMPTS=0", "OPLEDGER_RETENTON=1h",
		"OPLEDGER_STORE=mysql:x"}, "register", "batches/a")
	want := "opledger: 4 problems, and nothing was done:\n" +
		"  OPLEDGER_GRACE: \"soon\" is not a duration; write 90s, 5m or 6h\n" +
		"  OPLEDGER_MAX_ATTEMPTS: it must be at least 1\n" +
		"  OPLEDGER_STORE: it must be firestore, firestore:DATABASE or sqlite:PATH, not \"mysql:x\"\n" +
		"  OPLEDGER_RETENTON: there is no such setting; did you mean OPLEDGER_RETENTION?\n"
	if s.want(t, exitUsage); s.err != want {
		t.Errorf("%s, want %s", s.err, want)
	}
	s = cli(t, nil, "register", "abc", "--metadata", "[1]")
	if s.want(t, exitUsage, "name: ", "\n  metadata: "); !strings.HasPrefix(s.err,
		"opledger: 2 problems, and nothing was done:\n  name: ") {
		t.Error(s.err)
	}
}

// TestUnread: no command does anything while a variable is set that nothing reads, whatever
// settings it has itself.
func TestUnread(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	variables := []string{"OPLEDGER_STORE=" + f.store(), "OPLEDGER_GRACEE=topsecret", "GEMINI_API_KEY=k"}
	needs := map[string][]string{
		"opledger abandon": {"batches/a", "--reason", "r"}, "opledger forget": {"batches/a", "--yes"},
		"opledger show":     {"batches/a"},
		"opledger register": {"batches/a"}, "opledger replay": {"batches/a"},
		"opledger backup": {filepath.Join(t.TempDir(), "backup.db")}, "opledger recover": {"--log", lost(t, lostLog)},
		"opledger quarantine show": {"msg_1"}, "opledger quarantine retry": {"msg_1"},
		"opledger submit batch": {"--model", "m", "--file", "files/x"}, "opledger submit video": {"--model", "m", "--prompt",
			"p"},
		"opledger submit interaction": {"--model", "m", "--input", "x"},
		"opledger webhook create":     {"--url", "https://h", "--secret", "projects/p/secrets/s"},
		"opledger webhook delete":     {"w1"},
	}
	commands := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.HasSubCommands() {
			return
		}
		commands++
		args := append(strings.Fields(c.CommandPath())[1:], needs[c.CommandPath()]...)
		s := cli(t, variables, args...).want(t, exitUsage,
			"OPLEDGER_GRACEE: there is no such setting; did you mean OPLEDGER_GRACE?")
		if s.complaint(t); s.out != "" || strings.Contains(s.err, "topsecret") {
			t.Errorf("%v: %s%s", args, s.out, s.err)
		}
	}
	visit(newRoot(environment{}))
	if commands < 20 {
		t.Errorf("only %d commands", commands)
	}
	for _, args := range [][]string{{"--help"}, {"list", "--help"}, {"--version"}} {
		cli(t, variables, args...).want(t, exitDone)
	}
}

// TestVersion: --version says which build it is.
func TestVersion(t *testing.T) {
	t.Parallel()
	if s := cli(t, nil, "--version").want(t, exitDone); !regexp.MustCompile(`^opledger \S.*\n$`).MatchString(s.out) ||
		s.err != "" {
		t.Errorf("%q %q", s.out, s.err)
	}
	of := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	commit, at := debug.BuildSetting{Key: "vcs.revision", Value: "0123abc"}, debug.BuildSetting{Key: "vcs.time",
		Value: "2026-11-21T02:00:00Z"}
	for want, info := range map[string]*debug.BuildInfo{
		"of an unknown version": of(""),
		"(devel)":               of("(devel)", debug.BuildSetting{Key: "GOOS", Value: "linux"}),
		"v1.2.3":                of("v1.2.3"),
		"v1.2.3 (commit 0123abc, 2026-11-21T02:00:00Z)": of("v1.2.3", commit, at,
			debug.BuildSetting{Key: "vcs.modified", Value: "false"}),
		"(devel) (commit 0123abc, with changes)": of("(devel)", commit,
			debug.BuildSetting{Key: "vcs.modified", Value: "true"}),
	} {
		if got := versionText(info, true); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := versionText(nil, false); got != "of an unknown version" {
		t.Error(got)
	}
}
