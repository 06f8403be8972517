package infra_test

import (
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCommandSettings: the table lists exactly the settings that opledger's commands read, so that
// a command plans the effects that the functions plan.
func TestCommandSettings(t *testing.T) {
	t.Parallel()
	groups := settingGroups(t)
	declared := parse(t, "scripts/opledger")
	read := map[string]bool{}
	for name, fields := range structs(declared) {
		// Settings is that of serve, which is a deployment of its own.
		if !strings.HasSuffix(name, "ettings") || name == "Settings" || name == "listenSettings" {
			continue
		}
		for _, field := range fields.List {
			group, ok := field.Type.(*ast.SelectorExpr)
			// Commands hand effects over to Effects, so its handlers' settings are not theirs; nor is its pause, of which the
			// last pass tells them. What they read of that is for a ledger that serve works on.
			if !ok || group.Sel.Name == "Handlers" || group.Sel.Name == "Pause" {
				continue
			}
			for variable := range groups[group.Sel.Name] {
				read[variable] = true
			}
		}
	}
	for _, fields := range structs(declared) {
		for variable := range variablesOf(t, fields) {
			read[variable] = true
		}
	}
	for _, s := range readTable[[]setting](t, "settings.json") {
		if want := read[s.Name] && s.Set != "never"; s.Commands != want {
			t.Errorf("%s: settings.json says commands: %v, of what they read it is %v", s.Name, s.Commands, want)
		}
		delete(read, s.Name)
	}
	for variable := range read {
		if strings.HasSuffix(variable, "_EMULATOR_HOST") || variable == "OPLEDGER_URL" || variable == "OPLEDGER_TOKEN" {
			continue // for tests, and of a submitter: no function reads it
		}
		t.Errorf("commands read %s, which settings.json does not have", variable)
	}
}

// TestEnvironmentIsReadBack: bash reads the output environment, which a test of Terraform compares
// with this file, as it was written.
func TestEnvironmentIsReadBack(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "infra", "tests", "environment.txt"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "bash", "-euc", `eval "$1"; exec env -0`, "bash", string(text))
	command.Env = []string{"PATH=/usr/bin:/bin"}
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(out), "\x00")
	for _, want := range []string{
		"OPLEDGER_EFFECTS=- {name: \"it's\", on: [SUCCEEDED], do: http, url: \"https://e.example/?a=masked&b=masked\"}\n- " +
			"{name: b, on: [FAILED], do: log}\n",
		"OPLEDGER_STORE=firestore:opledger", "OPLEDGER_TOPIC=opledger-effects", "OPLEDGER_INTERVAL=10m", "OPLEDGER_GRACE=91s",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	for _, s := range readTable[[]setting](t, "settings.json") {
		if set := slices.ContainsFunc(got, func(v string) bool {
			return strings.HasPrefix(v, s.Name+"=")
		}); set != s.Commands {
			t.Errorf("%s is there: %v, settings.json says %v", s.Name, set, s.Commands)
		}
	}
}

// TestReconcileHasTheSettingsOfCommands: `opledger environment` prints what Reconcile is deployed with,
// which has all that commands read.
func TestReconcileHasTheSettingsOfCommands(t *testing.T) {
	t.Parallel()
	for _, s := range readTable[[]setting](t, "settings.json") {
		if s.Commands && (s.Set == "never" || !slices.Contains(s.Functions, "reconcile")) {
			t.Errorf("commands read %s, which Reconcile is not deployed with", s.Name)
		}
	}
}
