package open_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestSettingsAreJudgedAtOnce: every problem in a command's settings is reported by name, and it
// does not start; the settings of other commands are not checked.
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
		s := commandtest.Run(t, bad, c.args...).Want(t, terminal.ExitUsage)
		complaint := s.Complaint(t)
		for _, name := range all {
			named := strings.Contains(complaint, name+": ")
			if concerns := strings.Contains(" "+strings.Join(c.names, " ")+" ", " "+name+" "); named != concerns {
				t.Errorf("%v: %s named: %v, want %v: %s", c.args, name, named, concerns, complaint)
			}
		}
		if strings.Contains(s.Err, "hunter2") {
			t.Errorf("%v tells a secret: %s", c.args, s.Err)
		}
	}
}

// TestHandlersAreJudgedAtOnce: problems that show only with the effects' handlers are reported with
// all others, before a ledger is made.
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
		f := commandtest.NewFile(t)
		s := commandtest.Run(t, append(variables, "OPLEDGER_STORE="+f.Store(), "OPLEDGER_GRACE=soon"), args...).Want(t,
			terminal.ExitUsage)
		const want = "3 problems, and nothing was done:\n" +
			"  OPLEDGER_GRACE: \"soon\" is not a duration; write 90s, 5m or 6h\n" +
			"  OPLEDGER_EFFECTS: effect \"own\": do is custom, and this program has no handler of that name; " +
			"add it in functions/effects/custom.go\n" +
			"  OPLEDGER_EFFECTS: effect \"tell\": topic \"ends\" names no project: " +
			"write it as projects/PROJECT/topics/ends; or set GOOGLE_CLOUD_PROJECT"
		if got := s.Complaint(t); got != want || s.Err != "opledger: "+want+"\n" {
			t.Errorf("%v: %s\nwant %s", args, s.Err, want)
		}
		if _, err := os.Stat(f.Path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: a ledger was made: %v", args, err)
		}
	}
}

// TestUnread: every command that reads settings refuses to start while a variable is set that no setting reads.
func TestUnread(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	variables := []string{"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_GRACEE=topsecret", "GEMINI_API_KEY=k"}
	needs := map[string][]string{
		"opledger abandon": {"batches/a", "--reason", "r"}, "opledger cancel": {"batches/a", "--reason", "r"},
		"opledger forget":  {"batches/a", "--yes"},
		"opledger release": {"jobs/a/00001", "--reason", "r"},
		"opledger pause":   {"jobs/a", "--reason", "r"},
		"opledger resume":  {"jobs/a", "--reason", "r"},
		"opledger change":  {"jobs/a", "--max-batches", "1", "--reason", "r"},
		"opledger redrive": {"jobs/a", "--reason", "r"},
		"opledger results": {"batches/a"},
		"opledger show":    {"batches/a"}, "opledger wait": {"batches/a"}, "opledger webhook deliver": {"batch.failed", "a"},
		"opledger register": {"batches/a"}, "opledger replay": {"batches/a"},
		"opledger resolve":     {"batches/a", "--reason", "r"},
		"opledger waive":       {"batches/a", "--effect", "log", "--reason", "r"},
		"opledger intent show": {"n"}, "opledger intent abandon": {"n", "--reason", "r"},
		"opledger intent forget":      {"n", "--yes"},
		"opledger backup":             {filepath.Join(t.TempDir(), "backup.db")},
		"opledger recover":            {"--log", commandtest.Lost(t, commandtest.LostLog)},
		"opledger quarantine resolve": {"msg_1", "--reason", "r"},
		"opledger quarantine show":    {"msg_1"}, "opledger quarantine retry": {"msg_1"},
		"opledger submit batch": {"--model", "m", "--file", "files/x"}, "opledger submit video": {"--model", "m", "--prompt",
			"p"},
		"opledger submit interaction": {"--model", "m", "--input", "x"},
		"opledger submit job":         {"-", "--id", "a", "--model", "m"},
		"opledger webhook create":     {"--url", "https://h", "--secret", "projects/p/secrets/s"},
		"opledger webhook delete":     {"w1"},
	}
	commands := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.HasSubCommands() || c.Name() == "completion" || c.Name() == "environment" { // they read no setting
			return
		}
		commands++
		args := append(strings.Fields(c.CommandPath())[1:], needs[c.CommandPath()]...)
		s := commandtest.Run(t, variables, args...).Want(t, terminal.ExitUsage,
			"OPLEDGER_GRACEE: there is no such setting; did you mean OPLEDGER_GRACE?")
		if s.Complaint(t); s.Out != "" || strings.Contains(s.Err, "topsecret") {
			t.Errorf("%v: %s%s", args, s.Out, s.Err)
		}
	}
	visit(root.New(terminal.Environment{}))
	if commands < 20 {
		t.Errorf("only %d commands", commands)
	}
	for _, args := range [][]string{{"--help"}, {"list", "--help"}, {"--version"}} {
		commandtest.Run(t, variables, args...).Want(t, terminal.ExitDone)
	}
}

// TestNoLedgerThere: a command on a ledger that is not there, as in the wrong folder or with a typo, makes
// none, and says what does.
func TestNoLedgerThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none.db")
	for _, args := range [][]string{
		{"list"}, {"intent", "list"}, {"show", "batches/a"}, {"abandon", "batches/a", "--reason", "r"},
		{"forget", "batches/a", "--yes"},
		{"quarantine", "list"}, {"quarantine", "show", "msg"}, {"quarantine", "retry", "msg"},
		{"register", "batches/a"}, {"submit", "video", "--model", "m", "--prompt", "p"}, {"reconcile"},
		{"reconcile", "batches/a"}, {"replay", "--dead", "--yes"}, {"replay", "--dead", "--dry-run"},
		{"console", "--port", "0"}, {"console", "--port", "0", "--allow-actions"}, {"status"},
	} {
		s := commandtest.Run(t, []string{"OPLEDGER_STORE=sqlite:" + path, "GEMINI_API_KEY=k"}, args...).Want(t,
			terminal.ExitUnread,
			"there is no ledger in "+path, "--store sqlite:PATH", "opledger serve")
		s.Complaint(t)
		if s.Out != "" {
			t.Errorf("stdout %q", s.Out)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a file was made: %v", err)
	}
	garbage := filepath.Join(t.TempDir(), "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("this is no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	commandtest.Run(t, nil, "list", "--store", "sqlite:"+garbage).Want(t, terminal.ExitUnread, garbage).Complaint(t)
}

// TestFlagBeatsEnvironment: settings come from the environment, and flags override them.
func TestFlagBeatsEnvironment(t *testing.T) {
	t.Parallel()
	f, other := commandtest.NewFile(t), commandtest.NewFile(t)
	f.Register("batches/here")
	other.Register("batches/there")
	variables := []string{"OPLEDGER_STORE=" + other.Store(), "GOOGLE_CLOUD_PROJECT=p"}
	if s := commandtest.Run(t, variables, "list").Want(t, terminal.ExitDone, other.Store()); !strings.Contains(s.Out,
		"batches/there") {
		t.Error(s.Out)
	}
	if s := commandtest.Run(t, variables, "list", "--store", f.Store()).Want(t, terminal.ExitDone,
		f.Store()); !strings.Contains(s.Out,
		"batches/here") {
		t.Error(s.Out)
	}
}
