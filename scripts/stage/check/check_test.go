package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// child is set for a process that is the program itself.
const child = "TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(child) != "" {
		main()
	}
	os.Exit(m.Run())
}

// deployed are settings that every function is deployed with.
func deployed(more ...string) []string {
	return append([]string{
		"GOOGLE_CLOUD_PROJECT=p", "OPLEDGER_STORE=firestore:opledger", "OPLEDGER_TOPIC=opledger-effects",
		"OPLEDGER_WEBHOOK_SECRET=projects/p/secrets/w", "OPLEDGER_GEMINI_API_KEY_SECRET=projects/p/secrets/k",
	}, more...)
}

// TestCheck: what a function would refuse is reported once, for the named functions and no other;
// valid settings print nothing.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about          string
		functions, set []string
		want           string
	}{
		{"all is well", nil, deployed(), ""},
		{"in each", []string{"webhook", "register", "reconcile", "effects"}, deployed("OPLEDGER_GRACE=2m", "PATH=/bin"), ""},
		{"once, though each says it", nil, deployed("OPLEDGER_GRACE=soon"),
			"check: OPLEDGER_GRACE: \"soon\" is not a duration; write 90s, 5m or 6h\n"},
		{"another function's", []string{"register", "effects"}, deployed("OPLEDGER_TOLERANCE=soon", "OPLEDGER_ADOPT=maybe"),
			""},
		{"several", []string{"webhook", "reconcile"}, deployed("OPLEDGER_TOLERANCE=0s", "OPLEDGER_ADOPT=maybe",
			"OPLEDGER_TOPICS=x"),
			"check: 3 problems, and nothing was done:\n" +
				"  OPLEDGER_TOLERANCE: it must be a duration longer than zero, such as 5m\n" +
				"  OPLEDGER_ADOPT: \"maybe\" is neither true nor false; write one of them\n" +
				"  OPLEDGER_TOPICS: there is no such setting; did you mean OPLEDGER_TOPIC?\n"},
		{"what is missing", []string{"register"}, nil, "check: 2 problems, and nothing was done:\n" +
			"  GOOGLE_CLOUD_PROJECT: it is not set; the ledger is in that project's Firestore\n" +
			"  OPLEDGER_TOPIC: it is not set; planned effects are published to that Pub/Sub topic\n"},
		{"a secret's name", []string{"webhook"}, deployed("OPLEDGER_WEBHOOK_SECRET=projects/p/secrets/w/versions/3"),
			"check: OPLEDGER_WEBHOOK_SECRET: it must be the name of a secret in Secret Manager, " +
				"projects/PROJECT/secrets/SECRET; " +
				"without a version: the enabled versions are found automatically\n"},
		{"a handler that is not there", nil, deployed("OPLEDGER_EFFECTS=[{name: own, on: [FAILED], do: custom}]"),
			"check: OPLEDGER_EFFECTS: effect \"own\": do is custom, and this program has no handler of that name; add it in " +
				"functions/effects/custom.go\n"},
		{"which only Effects has", []string{"webhook", "register", "reconcile"},
			deployed("OPLEDGER_EFFECTS=[{name: own, on: [FAILED], do: custom}]"), ""},
		{"effects that cannot be read hide nothing else", []string{"effects"},
			deployed("OPLEDGER_EFFECTS=[{name: own, on: [FAILED], do: dance}]", "OPLEDGER_CLAIM_TTL=1"),
			"check: 2 problems, and nothing was done:\n" +
				"  OPLEDGER_CLAIM_TTL: \"1\" is not a duration; write 90s, 5m or 6h\n" +
				"  OPLEDGER_EFFECTS: effect \"own\": do must be one of log, http, pubsub, custom, results, not \"dance\"\n"},
		{"no function", []string{"webhok", "register"}, deployed(),
			"check: there is no function \"webhok\"; it must be webhook, register, reconcile or effects\n"},
	} {
		var stderr bytes.Buffer
		code := run(t.Context(), c.functions, c.set, &stderr)
		if wants := c.want != ""; (code == wrong) != wants || (code == 0) == wants || stderr.String() != c.want {
			t.Errorf("%s: exit code %d, %s, want %s", c.about, code, &stderr, c.want)
		}
	}
}

// TestWarning: an effect whose URL seems to hold a secret is warned of, without the URL, and nothing is
// refused.
func TestWarning(t *testing.T) {
	t.Parallel()
	set := deployed(`OPLEDGER_EFFECTS=[{name: a, on: [FAILED], do: http, url: "https://example.com/?key=hunter2"}]`)
	for functions, want := range map[string]string{
		"effects": `check: warning: OPLEDGER_EFFECTS: effect "a": its url seems to hold a secret`, "register": "",
	} {
		var stderr bytes.Buffer
		code := run(t.Context(), []string{functions}, set, &stderr)
		if code != 0 || !strings.HasPrefix(stderr.String(), want) || (stderr.Len() == 0) != (want == "") ||
			strings.Contains(stderr.String(), "hunter2") {
			t.Errorf("%s: exit code %d, %s", functions, code, &stderr)
		}
	}
}

// TestProgram: the program reads the settings from its environment, and reports problems by its
// exit code and on stderr alone.
func TestProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set  []string
		code int
	}{{deployed(), 0}, {deployed("OPLEDGER_GRACE=soon"), wrong}} {
		var stdout, stderr bytes.Buffer
		command := exec.CommandContext(t.Context(), os.Args[0], "webhook", "register", "reconcile", "effects")
		command.Env, command.Stdout, command.Stderr = append(c.set, child+"=1"), &stdout, &stderr
		var exit *exec.ExitError
		if err := command.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		said := strings.HasPrefix(stderr.String(), "check: OPLEDGER_GRACE: ")
		if code := command.ProcessState.ExitCode(); code != c.code || said != (c.code != 0) || stdout.Len() > 0 ||
			stderr.Len() > 0 && !said {
			t.Errorf("exit code %d, want %d: %s%s", code, c.code, &stdout, &stderr)
		}
	}
}
