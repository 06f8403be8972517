package main

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHelp: --help everywhere, with examples, on stdout, and nothing is done.
func TestHelp(t *testing.T) {
	t.Parallel()
	var commands [][]string
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		commands = append(commands, strings.Fields(c.CommandPath())[1:])
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(environment{}))
	if len(commands) < 20 {
		t.Errorf("only %d commands", len(commands))
	}
	for _, command := range commands {
		s := cli(t, nil, append(command, "--help")...).want(t, exitDone)
		if s.err != "" || !strings.Contains(s.out, "Usage:") || !strings.Contains(s.out, "Examples:\n  ") {
			t.Errorf("%v --help has no examples:\n%s%s", command, s.out, s.err)
		}
	}
	if bare := cli(t, nil).want(t, exitDone); !strings.Contains(bare.out, "Examples:") {
		t.Errorf("no arguments: %s", bare.out)
	}
}

// TestExamplesAreAccepted: every example parses, so that help never shows what is refused.
func TestExamplesAreAccepted(t *testing.T) {
	t.Parallel()
	examples := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		for line := range strings.Lines(c.Example) {
			_, line, found := strings.Cut(strings.TrimSpace(line), "opledger ")
			if !found {
				t.Errorf("%s: an example without opledger: %q", c.Name(), line)
			}
			line, _, _ = strings.Cut(line, " > ")
			var args []string
			for _, word := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
				args = append(args, strings.Trim(word, "'"))
			}
			target, rest, err := newRoot(environment{}).Find(args)
			if err == nil {
				err = target.ParseFlags(rest)
			}
			if err == nil {
				err = target.ValidateArgs(target.Flags().Args())
			}
			if err != nil || target.Name() == "opledger" {
				t.Errorf("%q: %v", line, err)
			}
			examples++
		}
	}
	visit(newRoot(environment{}))
	if examples < 10 {
		t.Errorf("only %d examples", examples)
	}
}

// TestWrongUse: exit code 2, nothing on stdout, and one line on stderr that says what to do.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	there := newFile(t)
	there.register("batches/a")
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"frobnicate"}, []string{"frobnicate", "--help"}},
		{[]string{"--frobnicate"}, []string{"--frobnicate", "--help"}},
		{[]string{"local", "--operations", "many"}, []string{"--operations", "local --help"}},
		{[]string{"local", "--max-time", "0s"}, []string{"--max-time", "longer than zero"}},
		{[]string{"local", "--max-time", "long"}, []string{"--max-time", "90s"}},
		{[]string{"local", "--operations", "0"}, []string{"--operations", "from 1 to 10000"}},
		{[]string{"local", "extra"}, []string{"local --help"}},
		{[]string{"local", "--speed", "0", "--faults", "some", "--operations", "-1"},
			[]string{"--speed: it must be from 20 to 1000", "--faults: it must be none, normal or harsh", "--operations"}},
		{[]string{"local", "--store", "mysql:x"}, []string{"--store", "sqlite:PATH"}},
		{[]string{"local", "--store", "sqlite:"}, []string{"--store", "sqlite:PATH"}},
		{[]string{"list", "--state", "DONE"}, []string{"--state", "SUCCEEDED"}},
		{[]string{"list", "--state", "FALED"}, []string{"did you mean FAILED?"}},
		{[]string{"list", "--collection", "batchs"}, []string{"did you mean batches?"}},
		{[]string{"list", "--collection", "jobs"}, []string{"--collection", "batches"}},
		{[]string{"list", "--limit", "0"}, []string{"--limit", "at least 1"}},
		{[]string{"list", "--after", "nonsense"}, []string{"--after"}},
		{[]string{"list", "--after", "e30"}, []string{"--after"}}, // {}: well-formed, and nowhere
		{[]string{"list", "--store", "postgres://x"}, []string{"--store", "firestore, firestore:DATABASE or sqlite:PATH"}},
		{[]string{"list", "--store", "firestore"}, []string{"GOOGLE_CLOUD_PROJECT"}},
		{[]string{"show"}, []string{"show --help"}},
		{[]string{"show", "a", "b"}, []string{"show --help"}},
		{[]string{"show", " "}, []string{"name"}},
		{[]string{"register"}, []string{"register --help"}},
		{[]string{"register", "abc123"}, []string{"batches/abc123"}},
		{[]string{"register", "batches/a", "--metadata", "[1]", "--job-kind", strings.Repeat("k", 300)},
			[]string{"metadata", "jobKind"}},
		{[]string{"register", "batches/a", "--submitted-at", "yesterday"},
			[]string{"--submitted-at", "2026-11-21T02:00:00Z"}},
		{[]string{"reconcile", "a", "b"}, []string{"reconcile --help"}},
		{[]string{"list", "--intents", "--pending"}, []string{"intents", "pending"}},
		{[]string{"abandon", "batches/a"}, []string{"--reason"}},
		{[]string{"abandon", "batches/a", "--reason", " "}, []string{"--reason"}},
		{[]string{"abandon", "--reason", "x"}, []string{"abandon --help"}},
		{[]string{"forget"}, []string{"forget --help"}},
		{[]string{"forget", " "}, []string{"name"}},
		{[]string{"quarantine", "show"}, []string{"quarantine show --help"}},
		{[]string{"quarantine", "retry"}, []string{"quarantine retry --help"}},
		{[]string{"quarantine", "list", "--limit", "0"}, []string{"--limit"}},
		{[]string{"quarantine", "list", "--after", "x"}, []string{"--after"}},
		{[]string{"submit", "poem"}, []string{"poem"}},
		{[]string{"submit", "batch", "--file", "files/x"}, []string{"--model"}},
		{[]string{"submit", "batch", "--model", "m"}, []string{"--file", "--requests"}},
		{[]string{"submit", "batch", "--model", "m", "--file", "files/x", "--requests", "y"},
			[]string{"--file", "--requests"}},
		{[]string{"submit", "batch", "--model", "m", "--requests", "/nowhere/requests.jsonl"},
			[]string{"--requests", "/nowhere/requests.jsonl"}},
		{[]string{"submit", "video", "--model", "veo"}, []string{"--prompt"}},
		{[]string{"submit", "interaction", "--input", "x"}, []string{"--model"}},
		{[]string{"submit", "video", "--model", "veo", "--prompt", "p", "--metadata", "[1]", "--correlation-id", "two words",
			"--webhook-url", "http://x"},
			[]string{"--metadata", "--correlation-id", "--webhook-url"}},
		{[]string{"serve", "--port", "70000"}, []string{"--port", "65535"}},
		{[]string{"serve", "now"}, []string{"serve --help"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			s := cli(t, []string{"OPLEDGER_STORE=" + there.store()}, c.args...).want(t, exitUsage, c.says...)
			if s.out != "" {
				t.Errorf("stdout: %q", s.out)
			}
			s.complaint(t)
		})
	}
}

// TestSettingsAreJudgedAtOnce: every problem in the settings of the command that runs is reported,
// by name, and it does not start; settings of others do not concern it.
func TestSettingsAreJudgedAtOnce(t *testing.T) {
	t.Parallel()
	bad := []string{
		"PORT=http", "OPLEDGER_STORE=mysql:x", "OPLEDGER_GRACE=soon", "OPLEDGER_INTERVAL=-5m", "OPLEDGER_MAX_ATTEMPTS=0",
		"OPLEDGER_WEBHOOK_SECRET=hunter2", "OPLEDGER_TERMINAL_TRANSITIONS=SUCCEEDED:FAILED FAILED:SUCCEEDED",
		"OPLEDGER_EFFECTS=[{name: x, do: dance}]", "OPLEDGER_EFFECT_ALLOW_PRIVATE=perhaps", // and no GEMINI_API_KEY
	}
	all := []string{"GEMINI_API_KEY"}
	for _, variable := range bad {
		name, _, _ := strings.Cut(variable, "=")
		all = append(all, name)
	}
	without := func(names ...string) (left []string) {
		for _, name := range all {
			if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") {
				left = append(left, name)
			}
		}
		return left
	}
	for _, c := range []struct {
		args  []string
		names []string
	}{
		{[]string{"serve"}, all},
		{[]string{"reconcile"}, without("PORT")}, // a secret shows that the webhook was created
		{[]string{"register", "batches/a"}, without("PORT", "OPLEDGER_WEBHOOK_SECRET", "GEMINI_API_KEY")},
		{[]string{"submit", "video", "--model", "m", "--prompt", "p"}, without("PORT", "OPLEDGER_WEBHOOK_SECRET")},
		{[]string{"abandon", "batches/a", "--reason", "r"}, without("PORT", "OPLEDGER_WEBHOOK_SECRET", "GEMINI_API_KEY")},
		{[]string{"quarantine", "retry", "msg_1"}, without("PORT", "OPLEDGER_WEBHOOK_SECRET", "GEMINI_API_KEY")},
		{[]string{"forget", "batches/a"}, []string{"OPLEDGER_STORE"}},
		{[]string{"quarantine", "list"}, []string{"OPLEDGER_STORE"}},
		{[]string{"list"}, []string{"OPLEDGER_STORE"}},
		{[]string{"show", "batches/a"}, []string{"OPLEDGER_STORE"}},
	} {
		s := cli(t, bad, c.args...).want(t, exitUsage)
		complaint := s.complaint(t)
		for _, name := range all {
			named := strings.Contains(complaint, name+": ")
			if concerns := strings.Contains(" "+strings.Join(c.names, " ")+" ", " "+name+" "); named != concerns {
				t.Errorf("%v: %s named: %v, want %v: %s", c.args, name, named, concerns, complaint)
			}
		}
		if strings.Contains(s.err, "hunter2") {
			t.Errorf("%v tells a secret: %s", c.args, s.err)
		}
	}
}

// TestHandlersAreJudgedAtOnce: what only shows with the effects' handlers is found with everything
// else that is wrong, before a ledger is made.
func TestHandlersAreJudgedAtOnce(t *testing.T) {
	t.Parallel()
	variables := []string{
		"GEMINI_API_KEY=k",
		"OPLEDGER_EFFECTS=[{name: own, on: [FAILED], do: custom}, {name: tell, on: [FAILED], do: pubsub, topic: ends}]",
	}
	for _, args := range [][]string{
		{"serve", "--port", "0"}, {"reconcile"}, {"register", "batches/a"}, {"replay", "--dead"},
		{"abandon", "batches/a", "--reason", "r"},
		{"submit", "video", "--model", "m", "--prompt", "p"},
	} {
		f := newFile(t)
		s := cli(t, append(variables, "OPLEDGER_STORE="+f.store(), "OPLEDGER_GRACE=soon"), args...).want(t, exitUsage)
		const want = "3 problems, and nothing was done:\n" +
			"  OPLEDGER_GRACE: \"soon\" is not a duration; write 90s, 5m or 6h\n" +
			"  OPLEDGER_EFFECTS: effect \"own\": do is custom, and this program has no handler of that name; " +
			"add it in functions/effects/custom.go\n" +
			"  OPLEDGER_EFFECTS: effect \"tell\": topic \"ends\" names no project: " +
			"write it as projects/PROJECT/topics/ends; or set GOOGLE_CLOUD_PROJECT"
		if got := s.complaint(t); got != want || s.err != "opledger: "+want+"\n" {
			t.Errorf("%v: %s\nwant %s", args, s.err, want)
		}
		if _, err := os.Stat(f.path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: a ledger was made: %v", args, err)
		}
	}
}
