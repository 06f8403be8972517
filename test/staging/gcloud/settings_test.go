package gcloud

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSettingsAreChecked: before anything is done or printed, the code checks the settings that the
// functions would get, and no variable of the environment of the script.
func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	const outside = "export OPLEDGER_STORE=sqlite:mine GEMINI_API_KEY=hunter2 OPLEDGER_TOLERANCE=9s " +
		"OPLEDGER_OF_A_TEST=1; exec scripts/deploy --project my-project "
	r := bash(t, world{}.withOnly(t), "", "-c", outside+"--sign-effects --set OPLEDGER_GRACE=2m --dry-run").want(t, 0)
	if len(r.checked) != 1 || r.checked[0].Line != check+"effects webhook register reconcile" {
		t.Fatalf("checked by %+v", r.checked)
	}
	var got []string
	for _, variable := range r.checked[0].Env {
		if strings.HasPrefix(variable, "OPLEDGER_") || strings.HasPrefix(variable, "GOOGLE_") || strings.HasPrefix(variable,
			"GEMINI_") {
			got = append(got, variable)
		}
	}
	slices.Sort(got)
	compare(t, got, []string{
		"GOOGLE_CLOUD_PROJECT=my-project", "OPLEDGER_EFFECTS_SLOTS=20", "OPLEDGER_EFFECTS_TIMEOUT=540s",
		"OPLEDGER_EFFECT_SECRET=projects/my-project/secrets/opledger-effect-secret",
		"OPLEDGER_GEMINI_API_KEY_SECRET=projects/my-project/secrets/opledger-gemini-api-key", "OPLEDGER_GRACE=2m",
		"OPLEDGER_STORE=firestore:opledger", "OPLEDGER_TOPIC=opledger-effects",
		"OPLEDGER_WEBHOOK_SECRET=projects/my-project/secrets/opledger-webhook-secret",
		"OPLEDGER_WEBHOOK_URL=https://webhook.invalid",
	})
	refuses := world{{Pattern: check, Err: "OPLEDGER_GRACE: too short\n", Code: 2}}
	for _, dry := range []string{"", " --dry-run"} {
		refused := bash(t, refuses, "", "-c", outside+"--set OPLEDGER_GRACE=1ns"+dry).want(t, 2)
		if len(refused.calls) != 0 || refused.out != "" || !strings.Contains(refused.stderr, "too short") ||
			!strings.Contains(refused.stderr, "nothing was changed") {
			t.Errorf("it called %q, printed %q and said %s", refused.lines(), refused.out, refused.stderr)
		}
	}
}

// goOfBuilt is the go command for bash, which runs what was built before: each start of the real one loads some
// hundred packages.
const goOfBuilt = `() { "$PROGRAMS/${2##*/}" "${@:3}"; }`

// TestSettingsAreCheckedByTheCode: the same, checked by the real program.
func TestSettingsAreCheckedByTheCode(t *testing.T) {
	t.Parallel()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	for _, build := range []func() (string, error){asking, checking} {
		if _, err := build(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		set  []string
		code int
		want []string
	}{
		{[]string{"OPLEDGER_GRACE=2m"}, 0, nil},
		{[]string{"OPLEDGER_GRACE=soon", "OPLEDGER_MAX_ATTEMPTS=0"}, 2,
			[]string{"OPLEDGER_GRACE: ", "OPLEDGER_MAX_ATTEMPTS: ", "nothing was changed"}},
	} {
		command := exec.CommandContext(t.Context(), "scripts/deploy", "--project", project, "--dry-run")
		for _, set := range c.set {
			command.Args = append(command.Args, "--set", set)
		}
		command.Dir, command.Env = dir, append(os.Environ(), "BASH_FUNC_go%%="+goOfBuilt, "PROGRAMS="+programs)
		var stderr bytes.Buffer
		command.Stderr = &stderr
		out, _ := command.Output()
		if code := command.ProcessState.ExitCode(); code != c.code || (len(out) > 0) != (code == 0) {
			t.Errorf("%q: exit code %d, %d bytes printed: %s", c.set, code, len(out), stderr.String())
		}
		for _, want := range c.want {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("%q: it does not say %q: %s", c.set, want, stderr.String())
			}
		}
	}
}

// TestOptions: options in a file are options on the command line, without quotes.
func TestOptions(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "opledger.options")
	if err := os.WriteFile(file,
		[]byte("# what is deployed\n\n  # indented\n--region us-central1  \r\n--set OPLEDGER_EFFECTS=[{name: a, do: "+
			"\"it's\"}]\n"+
			"--set=OPLEDGER_GRACE=2m\n--sign-effects\n--register-caller\tgroup:submitters@example.com"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := empty().withOnly(t)
	got := deploy(t, w, "--options", file, "--dry-run").want(t, 0)
	want := deploy(t, w, "--dry-run", "--region", "us-central1", "--set", "OPLEDGER_EFFECTS=[{name: a, do: \"it's\"}]",
		"--set", "OPLEDGER_GRACE=2m", "--sign-effects", "--register-caller", "group:submitters@example.com").want(t, 0)
	compare(t, strings.Split(got.out, "\n"), strings.Split(want.out, "\n"))
	for content, want := range map[string]string{
		"--region \"us-central1\"\n": "line 1 of " + file + ": write the value without quotes",
		"\n--register-caller user:a@b.c # boss\n": "line 2 of " + file + ": write the value without quotes, and a comment " +
			"on a line of its own",
		"# nothing\n":          "there is no option in " + file,
		"":                     "there is no option in " + file,
		"--sign-effects yes\n": "--sign-effects takes no value",
		"--set OPLEDGER_EFFECTS=[\n{url: hunter2}]": "line 2 of " + file + " is no option",
		"--gemini-key-file /nowhere\n":              "--gemini-key-file: the file /nowhere cannot be read",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := deploy(t, nil, "--dry-run", "--options", file).want(t, 2); !strings.Contains(r.stderr, want) ||
			strings.Contains(r.stderr, "hunter2") {
			t.Errorf("%q: %s", content, r.stderr)
		}
	}
	deploy(t, nil, "--options", t.TempDir()).want(t, 2)
	if err := os.WriteFile(file, []byte("OPLEDGER_GRACE=hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := deploy(t, nil, "--options", file).want(t, 2); !strings.Contains(r.stderr, "line 1 of") ||
		strings.Contains(r.stderr, "hunter2") {
		t.Errorf("it said %s", r.stderr)
	}
}

// effects has what a shell could take for its own.
const effects = "- name: \"it's\"\n  url: \"https://e/?a=$HOME&b=`id`;\\\\\"\n\n- name: 'b'"

// hidden is effects without what looks like a secret.
const hidden = "- name: \"it's\"\n  url: \"https://e/?a=masked&b=masked\"\n\n- name: 'b'"

// plain is a deployment with settings and nothing else, over an earlier one.
var plain = once(func(t *testing.T) run {
	w := append(world{{Pattern: "^" + masked + "$", Out: hidden}}, deployed(t)...).withOnly(t)
	return deploy(t, w, "--set", "OPLEDGER_EFFECTS="+effects, "--set", "OPLEDGER_INTERVAL=10m",
		"--set", "OPLEDGER_GRACE=2m")
})

// TestEnvironment: the script that deploy prints for opledger's commands sets each variable that
// they read to the value of the functions, with any characters; its last line is the next command. Of
// the effects, nothing that looks like a secret is printed.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	r := plain(t)
	if !strings.HasSuffix(r.out, "\n\n  go run ./scripts/opledger webhook create\n") {
		t.Errorf("it ends with %s", r.out)
	}
	_, lines, _ := strings.Cut(r.out, "for opledger's commands on any machine:\n\n")
	lines, _, _ = strings.Cut(lines, "\n\nThe last step is")
	command := exec.CommandContext(t.Context(), "bash", "-euc", `eval "$1"; exec env -0`, "bash", lines)
	command.Env = []string{"PATH=/usr/bin:/bin"}
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, lines)
	}
	got := map[string]string{}
	for variable := range strings.SplitSeq(string(out), "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		got[name] = value
	}
	given := map[string]string{}
	for _, c := range r.matching("gcloud functions deploy") {
		list, separator := c.flag("--set-env-vars"), ","
		if custom, ok := strings.CutPrefix(list, "^"); ok {
			separator, list, _ = strings.Cut(custom, "^")
		}
		for variable := range strings.SplitSeq(list, separator) {
			name, value, _ := strings.Cut(variable, "=")
			given[name] = value
		}
	}
	if given["OPLEDGER_EFFECTS"] != effects {
		t.Errorf("the functions have the effects %q", given["OPLEDGER_EFFECTS"])
	}
	given["OPLEDGER_EFFECTS"] = hidden
	if strings.Contains(r.out+r.stderr, "$HOME") || strings.Count(r.stderr, "a=masked&b=masked") != 4 {
		t.Errorf("what looks like a secret in an effect is printed: %s", r.stderr)
	}
	for _, setting := range table(t, "command") {
		if got[setting[0]] != given[setting[0]] {
			t.Errorf("%s is %q, the functions have %q", setting[0], got[setting[0]], given[setting[0]])
		}
	}
	if got["OPLEDGER_EFFECTS"] != hidden || got["OPLEDGER_TOPIC"] != "opledger-effects" ||
		got["OPLEDGER_INTERVAL"] != "10m" || got["OPLEDGER_GRACE"] != "2m" {
		t.Errorf("the environment is %q", got)
	}
}
