package gcloud

import (
	"regexp"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

func teardown(t *testing.T, w world, typed string, args ...string) run {
	t.Helper()
	return bash(t, w, typed, append([]string{"scripts/teardown", "--project", project}, args...)...)
}

// TestTeardownAsks: nothing is deleted without the words that it asks for.
func TestTeardownAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typed string
		args  []string
	}{
		{"", nil}, {"y\n", nil}, {"yes\n", nil}, {"opledger and more\n", nil}, {"opledger\n", []string{"--delete-database"}},
	} {
		if r := teardown(t, nil, c.typed, c.args...).want(t, 1); len(r.calls) != 0 || !strings.Contains(r.stderr,
			"nothing was deleted") {
			t.Errorf("%q %q: called %q, said %s", c.typed, c.args, r.lines(), r.stderr)
		}
	}
}

// TestTeardown: everything that deploy makes is deleted, callers before the called; the ledger is
// deleted only on request.
func TestTeardown(t *testing.T) {
	t.Parallel()
	parts := []string{
		"DELETE --header @- --header Content-Type: application/json --header x-goog-user-project: " +
			"my-project " + monitoring + "projects/my-project/alertPolicies/1 ",
		"logging metrics delete opledger-passes ",
		"scheduler jobs delete opledger-reconcile", "pubsub subscriptions delete opledger-effects ",
		"functions delete opledger-effects",
		"functions delete opledger-webhook", "functions delete opledger-register", "functions delete opledger-reconcile",
		"pubsub subscriptions delete opledger-effects-dead", "pubsub topics delete opledger-effects ",
		"pubsub topics delete opledger-effects-dead",
		"secrets delete opledger-webhook-secret", "secrets delete opledger-gemini-api-key",
		"secrets delete opledger-effect-secret",
		"artifacts repositories delete opledger-functions", "iam service-accounts delete " + account("webhook"),
		"iam service-accounts delete " + account("push"), "iam service-accounts delete " + account("build"),
		monitoring + "projects/my-project/notificationChannels/1 ",
	}
	some := deployed(t).withFew(t)
	runs := []run{teardown(t, deployed(t), "opledger\n")}
	if harness.Thorough(t) { // TestTeardownDryRun compares a run with --yes
		runs = append(runs, teardown(t, some, "", "--yes"))
	}
	for _, r := range runs {
		r.want(t, 0)
		position := -1
		for _, part := range parts {
			at := -1
			for i, line := range r.lines() {
				if strings.Contains(line+" ", part) {
					at = i
				}
			}
			if at <= position {
				t.Errorf("%s: call %d, after call %d", part, at, position)
			}
			position = at
		}
		if n := len(r.matching("projects remove-iam-policy-binding", "--role=roles/datastore.user --all")); n != 4 {
			t.Errorf("%d accounts lose their role", n)
		}
		if len(r.matching("firestore")) != 0 || !strings.Contains(r.stderr, "The ledger is kept") {
			t.Errorf("the ledger: %+v, %s", r.matching("firestore"), r.stderr)
		}
	}
	r := teardown(t, some, "opledger and the database opledger\n", "--delete-database").want(t, 0)
	if len(r.matching("firestore databases delete --database=opledger")) != 1 ||
		len(r.matching("--no-delete-protection")) != 1 {
		t.Errorf("the ledger: %q", r.lines())
	}
	for _, c := range teardown(t, empty().withFew(t), "", "--yes", "--delete-database").want(t, 0).calls {
		if !regexp.MustCompile(` (describe|get-iam-policy|print-access-token|list|GET) `).MatchString(c.Line) {
			t.Errorf("nothing is there, and it called %s", c.Line)
		}
	}
}

// TestTeardownDryRun: it neither asks nor runs anything, and prints the calls of the real run.
func TestTeardownDryRun(t *testing.T) {
	t.Parallel()
	some := deployed(t).withFew(t)
	printed := teardown(t, some, "", "--dry-run", "--delete-database").want(t, 0)
	really := teardown(t, some, "", "--yes", "--delete-database").want(t, 0)
	compare(t, bash(t, deployed(t), "", script(t, printed)).want(t, 0).lines(), really.lines())
}
