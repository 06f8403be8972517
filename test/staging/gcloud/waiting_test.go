package gcloud

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notYet are the answers of Google Cloud while something new is not effective yet, each to a call
// of deploy, with what it waits for.
var notYet = []struct {
	about, call, answer, waitsFor string
	stdout                        bool // curl prints the answer there
}{
	{"a field", `^curl .*/collectionGroups/operations/fields/metadata\?`,
		`{"error":{"code":409,"message":"Please retry, underlying data changed"}}`,
		"Firestore to finish another change of its indexes", true},
	{"an index", `^gcloud firestore indexes composite create`,
		"ERROR: ABORTED: Aborted due to cross-transaction contention.",
		"Firestore to finish another change of its indexes", false},
	{"a metric", `^curl .*--request POST .*/alertPolicies$`,
		`{"error":{"code":404,"message":"Cannot find metric(s) that match type = \"x\". ` +
			`If a metric was created recently, it could take up to 10 minutes to become available."}}`,
		"Cloud Monitoring to find a new metric", true},
	{"an alert", `^curl .*--request POST .*/alertPolicies$`,
		`{"error":{"code":409,"message":"too many concurrent edits to the project"}}`,
		"Cloud Monitoring to finish another change", true},
	{"an account", `^gcloud projects add-iam-policy-binding`,
		"ERROR: INVALID_ARGUMENT: Service account opledger-webhook@x does not exist.",
		"a new service account to be known everywhere", false},
	{"an API", `^gcloud pubsub topics create`,
		"ERROR: PERMISSION_DENIED: Cloud Pub/Sub API has not been used in project 123 before or it is disabled.",
		"a new API to be enabled everywhere", false},
	{"the source of a build", `^gcloud functions deploy`,
		"ERROR: Build failed: Access to bucket gcf-v2-sources-123-europe-west1 denied. You must grant",
		"the roles of the build account to be known everywhere", false},
	{"the image of a build", `^gcloud functions deploy`,
		`denied: Permission "artifactregistry.repositories.uploadArtifacts" denied on resource`,
		"the roles of the build account to be known everywhere", false},
}

// TestDeployWaits: a call that fails because something new is not effective yet is retried after a
// pause, which is printed; the script that --dry-run prints does the same.
func TestDeployWaits(t *testing.T) {
	t.Parallel()
	options := []string{"--gemini-key-file", keyFile(t)}
	script := filepath.Join(t.TempDir(), "printed")
	if err := os.WriteFile(script, []byte(deploy(t, nil, append(options, "--dry-run")...).want(t, 0).out),
		0o600); err != nil {
		t.Fatal(err)
	}
	var refused [2]world // a call is refused for one reason only
	for _, c := range notYet {
		r := rule{Pattern: c.call, Code: 1, Times: 2, Err: c.answer + "\n"}
		if c.stdout {
			r = rule{Pattern: c.call, Code: 22, Times: 2, Out: c.answer}
		}
		i := 0
		if slices.ContainsFunc(refused[0], func(other rule) bool { return other.Pattern == c.call }) {
			i = 1
		}
		refused[i] = append(refused[i], r)
	}
	smooth := deploy(t, empty(), options...).want(t, 0).lines()
	said := ""
	for i, w := range refused {
		w = append(w, empty()...)
		r := deploy(t, w, options...).want(t, 0)
		said += r.stderr
		var once []string // the calls without those that were refused
		waits := 0
		for _, line := range r.lines() {
			if seconds, ok := strings.CutPrefix(line, "sleep "); ok {
				if want := []string{"10", "20"}[waits%2]; seconds != want {
					t.Errorf("wait %d is of %s s, want %s", waits, seconds, want)
				}
				waits++
				once = once[:len(once)-1]
				continue
			}
			once = append(once, line)
		}
		compare(t, once, smooth)
		if waits != 2*len(refused[i]) {
			t.Errorf("%d waits, want %d", waits, 2*len(refused[i]))
		}
		compare(t, bash(t, w, "", script).want(t, 0).lines(), r.lines())
	}
	for _, c := range notYet {
		if !strings.Contains(said, "waiting 10 s for "+c.waitsFor) || !strings.Contains(said,
			"waiting 20 s for "+c.waitsFor) {
			t.Errorf("%s: it says %s", c.about, said)
		}
	}
}

// TestDeployGivesUp: it waits at most ten minutes for one thing, and not at all for an error that
// does not pass.
func TestDeployGivesUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer, says string
		sleeps       int
	}{
		{notYet[2].answer, "gave up after 610 s of waiting for Cloud Monitoring to find a new metric", 12},
		{`{"error":{"code":400,"message":"Field alert_policy.conditions[0] had an invalid value"}}`, "had an invalid value",
			0},
	} {
		r := deploy(t, append(world{{Pattern: notYet[2].call, Code: 22, Out: c.answer}}, empty()...), "--gemini-key-file",
			keyFile(t)).want(t, 1)
		if n := len(r.matching("sleep ")); n != c.sleeps || !strings.Contains(r.stderr, c.says) ||
			len(r.matching("POST", "/alertPolicies")) != c.sleeps+1 {
			t.Errorf("it waited %d times and says %s", n, r.stderr)
		}
	}
}
