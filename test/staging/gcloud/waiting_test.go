package gcloud

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// A refusal is an answer of Google's to a call of deploy that passes, and what deploy waits for then.
type refusal struct {
	about, call, answer, waitsFor string
	stdout                        bool // curl prints the answer there
}

// notYet are the answers of Google Cloud while something new is not effective yet, each to a call
// of deploy, with what it waits for.
var notYet = []refusal{
	{"a field", `^curl .*/collectionGroups/operations/fields/[*]\?`,
		`{"error":{"code":409,"message":"Please retry, underlying data changed"}}`,
		"Firestore to finish another change of its indexes", true},
	{"an index", `^gcloud firestore indexes composite create`,
		"ERROR: ABORTED: Aborted due to cross-transaction contention.",
		"Firestore to finish another change of its indexes", false},
	{"many indexes at once", `^gcloud firestore indexes composite create`,
		"ERROR: ABORTED: too much contention on these documents. please try again.",
		"Firestore to finish another change of its indexes", false},
	{"another deployment", `^gcloud functions deploy`,
		"ERROR: (gcloud.functions.deploy) ResponseError: status=[409], code=[Aborted], " +
			"message=[unable to queue the operation]",
		"another deployment of this function to end", false},
	{"builds per minute", `^gcloud functions deploy`,
		"ERROR: Build failed: Quota exceeded for quota metric 'Build Create requests' and limit 'Build Create requests " +
			"per minute' of service 'cloudbuild.googleapis.com'",
		"the quota of builds to have room", false},
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
	var w world
	refusals := map[string]int{} // by what is waited for
	for _, c := range notYet {
		r := rule{Pattern: c.call, Code: 1, Times: 2, Err: c.answer + "\n"}
		if c.stdout {
			r = rule{Pattern: c.call, Code: 22, Times: 2, Out: c.answer}
		}
		w = append(w, r)
		refusals[c.waitsFor] += 2
	}
	w = append(w, empty()...).withFew(t)
	r := deploy(t, w, options...).want(t, 0)
	var once []string // the calls without those that were refused
	pause, waiting := 10, false
	for _, line := range r.lines() {
		if seconds, ok := strings.CutPrefix(line, "sleep "); ok {
			if seconds != strconv.Itoa(pause) {
				t.Errorf("it waits %s s, want %d", seconds, pause)
			}
			once = once[:len(once)-1]
			pause, waiting = min(2*pause, 60), true
			continue
		}
		if !waiting {
			pause = 10 // for another call
		}
		once, waiting = append(once, line), false
	}
	compare(t, once, few(t).lines())
	for waitsFor, n := range refusals {
		if got := strings.Count(r.stderr, " s for "+waitsFor); got != n {
			t.Errorf("it waits %d times for %s, want %d: %s", got, waitsFor, n, r.stderr)
		}
	}
	if harness.Thorough(t) { // the printed script has the function that TestDeployGivesUp calls
		compare(t, bash(t, w, "", script(t, printed(t))).want(t, 0).lines(), r.lines())
	}
}

// TestDeployGivesUp: it waits at most ten minutes for one thing, and not at all for an error that
// does not pass. It says what to do where Google's text does not.
func TestDeployGivesUp(t *testing.T) {
	t.Parallel()
	metric := notYet[slices.IndexFunc(notYet, func(n refusal) bool { return n.about == "a metric" })]
	for _, c := range []struct {
		answer, says string
		sleeps       int
	}{
		{metric.answer, "gave up after 610 s of waiting for Cloud Monitoring to find a new metric", 12},
		{`{"error":{"code":400,"message":"Field alert_policy.conditions[0] had an invalid value"}}`, "had an invalid value",
			0},
		{"INVALID_ARGUMENT: Could not create Cloud Run service opledger-effects. Quota violated:\n" +
			"CpuAllocPerProjectRegion requested: 40000 allowed: 20000", "a smaller --max-instances", 0},
		{"spec.template.spec.containers.resources.limits.cpu: Invalid value specified for cpu. For the specified value, " +
			"maxScale may not exceed 10.", "a smaller --max-instances", 0},
		{"FAILED_PRECONDITION: failed precondition: due to quota restrictions, cannot run builds in this region. " +
			"Please contact support", "six regions only: us-central1,", 0},
		{"generic::failed_precondition: no concurrent builds quota available to create builds",
			"six regions only: us-central1,", 12},
	} {
		refuses := world{{Pattern: `^curl`, Code: 22, Err: c.answer + "\n"}}
		r := bash(t, refuses, "", "-euc", ". scripts/waiting.sh; patiently curl").want(t, 22)
		if n := len(r.matching("sleep ")); n != c.sleeps || len(r.matching("curl")) != c.sleeps+1 ||
			!strings.Contains(r.out+r.stderr, c.says) {
			t.Errorf("it waited %d times and says %s%s", n, r.out, r.stderr)
		}
	}
}
