package deployment_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/commandtest"
)

// pretendGcloud returns a PATH in which gcloud answers every call with this, and writes the call to a file.
func pretendGcloud(t *testing.T, answer, code string) (path, calls string) {
	t.Helper()
	folder := t.TempDir()
	calls = filepath.Join(folder, "calls")
	script := "#!/bin/sh\necho \"$*\" >>" + calls + "\ncat <<'END'\n" + answer + "\nEND\n" +
		"echo 'told by gcloud' >&2\nexit " + code + "\n"
	if err := os.WriteFile(filepath.Join(folder, "gcloud"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + folder + ":/usr/bin:/bin", calls
}

// TestEnvironment: the settings of the deployed function are printed so that a shell reads each as it is; no secret is.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	answer, err := json.Marshal(map[string]any{"serviceConfig": map[string]any{"environmentVariables": map[string]string{
		"GOOGLE_CLOUD_PROJECT": "my-project", "OPLEDGER_STORE": "firestore:it's", "LOG_EXECUTION_ID": "true",
		"OPLEDGER_EFFECTS":   "- {name: a, on: [SUCCEEDED], do: http, url: \"https://e.example/?key=hunter2\"}\n",
		"OPLEDGER_OF_LATER":  "x",
		"GEMINI_API_KEY":     "hunter2",
		"OPLEDGER_RETENTION": "337h",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	path, calls := pretendGcloud(t, string(answer), "0")
	args := []string{"environment", "--project", "my-project", "--region", "us-central1", "--prefix", "staging"}
	r := commandtest.Run(t, []string{path}, args...).Want(t, 0, "OPLEDGER_OF_LATER is left out")
	if strings.Contains(r.Out+r.Err, "hunter2") {
		t.Errorf("it prints a secret: %s", r.Out)
	}
	called, err := os.ReadFile(calls)
	if want := "functions describe staging-reconcile --gen2 --region=us-central1 --project=my-project "; err != nil ||
		!strings.HasPrefix(string(called), want) {
		t.Errorf("it called %s, %v", called, err)
	}
	shell := exec.CommandContext(t.Context(), "bash", "-euc", `eval "$1"; exec env -0`, "bash", r.Out)
	shell.Env = []string{"PATH=/usr/bin:/bin"}
	for _, v := range []string{"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "OPLEDGER_GRACE", "OPLEDGER_JWKS_URL",
		"OPLEDGER_CLAIM_TTL", "OPLEDGER_EFFECT_SECRET", "OPLEDGER_TOPIC", "OPLEDGER_RETENTION"} {
		shell.Env = append(shell.Env, v+"=simulated")
	}
	out, err := shell.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := "\x00" + string(out)
	for _, want := range []string{
		"CLOUDSDK_CORE_PROJECT=my-project", "REGION=us-central1", "PREFIX=staging", "GOOGLE_CLOUD_PROJECT=my-project",
		"OPLEDGER_STORE=firestore:it's", "OPLEDGER_RETENTION=337h",
		"OPLEDGER_EFFECTS=- {name: a, on: [SUCCEEDED], do: http, url: \"https://e.example/?key=masked\"}\n",
	} {
		if !strings.Contains(got, "\x00"+want+"\x00") {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Contains(got, "simulated") || strings.Contains(got, "LOG_EXECUTION_ID") ||
		strings.Contains(got, "OPLEDGER_OF_LATER") {
		t.Errorf("it exports too much: %q", got)
	}
}

// TestEnvironmentErrors: what is wrong is said, and nothing is printed that a shell would read.
func TestEnvironmentErrors(t *testing.T) {
	t.Parallel()
	refused, _ := pretendGcloud(t, "", "1")
	foreign, _ := pretendGcloud(t, `{"serviceConfig": {"environmentVariables": {"A": "b"}}}`, "0")
	unlike, _ := pretendGcloud(t, "plain", "0")
	for _, c := range []struct {
		path, says string
		code       int
		args       []string
	}{
		{refused, "--project is missing", 2, nil},
		{"PATH=" + t.TempDir(), "gcloud is not in the PATH; install it", 1, []string{"--project", "p"}},
		{refused, "describing the function opledger-reconcile in p, europe-west1: exit status 1: told by gcloud", 1,
			[]string{"--project", "p"}},
		{foreign, "opledger-reconcile is not opledger's: it has no OPLEDGER_STORE; check --prefix", 1,
			[]string{"--project", "p"}},
		{unlike, "reading what gcloud says", 1, []string{"--project", "p"}},
	} {
		if r := commandtest.Run(t, []string{c.path}, append([]string{"environment"}, c.args...)...).Want(t, c.code,
			c.says); r.Out != "" {
			t.Errorf("%s: it printed %s", c.says, r.Out)
		}
	}
}
