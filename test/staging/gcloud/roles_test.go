package gcloud

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A role is an entry of infra/roles.json.
type role struct{ who, role, kind, name, only, why string }

func roles(t *testing.T) (all []role) {
	t.Helper()
	for _, e := range table(t, "role") {
		all = append(all, role{e[0], e[1], e[2], e[3], e[4], strings.Join(e[5:], " ")})
	}
	return all
}

// member is who has the role, in the form of IAM. It is empty for callers, whom the deployment does
// not know.
func (r role) member() string {
	switch r.who {
	case "everybody":
		return "allUsers"
	case "pubsub":
		return "serviceAccount:service-123@gcp-sa-pubsub.iam.gserviceaccount.com"
	}
	return member(r.who)
}

// resource is what the role is on, as gcloud names it: its kind and its name.
func (r role) resource() (kind, name string) {
	switch r.kind {
	case "database", "source", "project":
		return "projects", project
	case "bucket":
		return "storage buckets", map[string]string{
			"results_buckets": "gs://my-results", "job_bucket": "gs://my-jobs",
		}[r.only]
	case "own-secret":
		return "secrets", ownSecret
	case "account":
		return "iam service-accounts", account(r.name)
	}
	return map[string]string{
		"topic": "pubsub topics", "subscription": "pubsub subscriptions", "secret": "secrets",
		"repository": "artifacts repositories",
		"service":    "run services",
	}[r.kind], "opledger-" + r.name
}

// ownSecret is named by an effect.
const ownSecret = "projects/other/secrets/crm-token"

// policy is the pattern of the request for the policy that the role is in.
func (r role) policy() string {
	kind, name := r.resource()
	return "^gcloud " + kind + " get-iam-policy " + regexp.QuoteMeta(name) + " "
}

// line is how gcloud prints that a member has the role.
func (r role) line() string {
	condition := "|"
	switch r.kind {
	case "database":
		condition = `ledger of opledger|resource.name == "projects/my-project/databases/opledger"`
	case "source":
		condition = "source of functions|" + sourceBuckets
	}
	return r.member() + "|" + r.role + "|" + condition + "\n"
}

// sourceBuckets is the condition of the account that builds.
const sourceBuckets = `resource.name.startsWith("projects/_/buckets/gcf-v2-sources-123-europe-west1") || ` +
	`resource.name.startsWith("projects/_/buckets/gcf-v2-uploads-123-europe-west1") || ` +
	`resource.name.startsWith("projects/_/buckets/run-sources-my-project-europe-west1")`

// policies are the answers in which every role of the table is granted; no member may call
// Register.
func policies(t *testing.T) (all world) {
	t.Helper()
	at := map[string]int{}
	for _, r := range roles(t) {
		i, ok := at[r.policy()]
		if !ok {
			i = len(all)
			at[r.policy()] = i
			all = append(all, rule{Pattern: r.policy()})
		}
		if r.who != "callers" {
			all[i].Out += r.line()
		}
	}
	return all
}

// onSecrets are the roles of all who have one on a secret.
var onSecrets = []string{"role webhook roles/secretmanager", "role reconcile roles/secretmanager",
	"role effects roles/secretmanager"}

// TestKeyGrants: the Gemini key is granted to exactly the functions that call Gemini with
// the given settings, by the code; doctor expects it for no other.
func TestKeyGrants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ asking, accounts string }{
		{"webhook\nreconcile\n", "webhook reconcile"}, {"reconcile\neffects\n", "reconcile effects"},
	} {
		says := world{{Pattern: `^` + needs + `$`, Out: c.asking}}
		r := deploy(t, append(says, empty()...).withOnly(t, onSecrets...),
			"--gemini-key-file", keyFile, "--set", "OPLEDGER_CONFIRM=never").want(t, 0)
		if len(r.asked) != 1 || !slices.Contains(r.asked[0].Env, "OPLEDGER_CONFIRM=never") {
			t.Errorf("asked by %+v", r.asked)
		}
		var got, want []string
		for _, grant := range r.matching("secrets add-iam-policy-binding opledger-gemini-api-key ") {
			got = append(got, grant.flag("--member"))
		}
		for name := range strings.FieldsSeq(c.accounts) {
			want = append(want, member(name))
		}
		compare(t, got, want)

		held := rule{Pattern: `^gcloud secrets get-iam-policy opledger-gemini-api-key `}
		for _, who := range want {
			held.Out += who + "|roles/secretmanager.secretAccessor||\n"
		}
		settings := rule{
			Pattern: `^gcloud functions describe opledger-effects ` +
				`.*=value\(serviceConfig\.environmentVariables\.OPLEDGER_EFFECTS\)`,
			Out: "- {name: a}\n- b\n",
		}
		r = doctor(t, append(append(says, held, settings), deployed(t)...).withOnly(t, onSecrets...)).want(t, 0)
		if len(r.asked) != 1 || !slices.Contains(r.asked[0].Env, "OPLEDGER_EFFECTS=- {name: a}\n- b") {
			t.Errorf("asked by %+v", r.asked)
		}
	}
}
