package gcloud

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func doctor(t *testing.T, w world) run {
	t.Helper()
	return bash(t, w, "", "scripts/doctor", "--project", project)
}

// TestDoctorOfAHealthyProject: everything is ok, and nothing was changed.
func TestDoctorOfAHealthyProject(t *testing.T) {
	t.Parallel()
	r := doctor(t, deployed(t)).want(t, 0)
	if strings.Contains(r.out, "missing  ") || !strings.HasSuffix(r.out, "nothing is missing\n") || strings.Count(r.out, "ok       ") < 60 {
		t.Errorf("it says %s", r.out)
	}
	changes := regexp.MustCompile(` (create|delete|update|deploy|add|add-iam-policy-binding|enable|PATCH) `)
	for _, c := range r.calls {
		if changes.MatchString(c.Line) {
			t.Errorf("it called %s", c.Line)
		}
	}
}

// TestDoctor: of parts that are missing it names just those, and says what to do about each.
func TestDoctor(t *testing.T) {
	t.Parallel()
	healthy := deployed(t)
	// without returns the world with the answers to calls less what matches.
	without := func(pattern, gone string) rule {
		for _, r := range healthy {
			if r.Pattern == pattern {
				kept := regexp.MustCompile("(?m)"+gone).ReplaceAllString(r.Out, "")
				if kept == r.Out {
					t.Fatalf("%s does not say %s", pattern, gone)
				}
				return rule{Pattern: pattern, Out: kept}
			}
		}
		t.Fatalf("there is no rule %s", pattern)
		return rule{}
	}
	const redeploy = "scripts/deploy --project my-project"
	for _, batch := range batches([]part{
		{"login", "gcloud auth login", without(`^gcloud auth list`, `.*\n`)},
		{"project my-project", "gcloud projects list", rule{Pattern: `^gcloud projects describe`, Code: 1}},
		{"API run", "gcloud services enable run.googleapis.com", without(`^gcloud services list`, `^run\.googleapis\.com\n`)},
		{"Firestore database opledger, optimistic", redeploy, rule{Pattern: `databases describe`, Out: "FIRESTORE_NATIVE PESSIMISTIC\n"}},
		{"index operations state:ascending,dueAt:ascending", redeploy, without(`^gcloud firestore indexes composite list`, `^operations COLLECTION_GROUP state,dueAt.*\n`)},
		{"index effects dueAt:ascending", redeploy, without(`^gcloud firestore indexes fields list`, `^effects dueAt.*\n`)},
		{"exemption operations.metadata", redeploy, without(`^gcloud firestore indexes fields list`, `^operations metadata.*\n`)},
		{"TTL deliveries.expireAt", redeploy, without(`^gcloud firestore indexes fields list`, `^deliveries expireAt.*\n`)},
		{"secret opledger-webhook-secret", redeploy, rule{Pattern: `secrets describe opledger-webhook`, Code: 1}},
		{"version of secret opledger-webhook-secret", "opledger webhook create", rule{Pattern: `versions list opledger-webhook`}},
		{"version of secret opledger-gemini-api-key", "gcloud secrets versions add opledger-gemini-api-key --data-file=-", rule{Pattern: `versions list opledger-gemini`}},
		{"effects may use the ledger", redeploy, without(`^gcloud projects get-iam-policy`, `^serviceAccount:opledger-effects@.*\n`)},
		{"register may publish effects", redeploy, without(`^gcloud pubsub topics get-iam-policy opledger-effects `, `^serviceAccount:opledger-register@.*\n`)},
		{"reconcile may read the Gemini API key", redeploy, without(`^gcloud secrets get-iam-policy opledger-gemini`, `^serviceAccount:opledger-reconcile@.*\n`)},
		{"webhook has viewer on its secret", redeploy, without(`^gcloud secrets get-iam-policy opledger-webhook`, `.*viewer\n`)},
		{"function opledger-register", "gcloud functions logs read opledger-register", without(`^gcloud functions describe opledger-register`, `^state=ACTIVE\n`)},
		{"webhook has OPLEDGER_STORE", redeploy, without(`^gcloud functions describe opledger-webhook`, `:opledger$`)},
		{"reconcile has OPLEDGER_WEBHOOK_URL", redeploy, without(`^gcloud functions describe opledger-reconcile`, `.*OPLEDGER_WEBHOOK_URL.*\n`)},
		{"OPLEDGER_GRACE is the same in webhook,register,reconcile,effects", "scripts/deploy --set OPLEDGER_GRACE=", without(`^gcloud functions describe opledger-effects`, `.*OPLEDGER_GRACE.*\n`)},
		{"webhook may be called by Gemini", "where the organisation forbids allUsers", without(`^gcloud run services get-iam-policy opledger-webhook`, `.*\n`)},
		{"effects may be called by Pub/Sub", redeploy, without(`^gcloud run services get-iam-policy opledger-effects`, `.*\n`)},
		{"reconcile may be called by Cloud Scheduler", redeploy, without(`^gcloud run services get-iam-policy opledger-reconcile`, `.*\n`)},
		{"register is not public", "remove-iam-policy-binding opledger-register", rule{Pattern: `^gcloud run services get-iam-policy opledger-register`, Out: "allUsers roles/run.invoker\n"}},
		{"push subscription opledger-effects", redeploy, without(`^gcloud pubsub subscriptions describe opledger-effects `, `/projects/my-project/topics/opledger-effects `)},
		{"dead letters of subscription opledger-effects", redeploy, without(`^gcloud pubsub subscriptions describe opledger-effects `, `projects/[a-z/-]*-dead`)},
		{"Pub/Sub may publish dead letters", redeploy, without(`^gcloud pubsub topics get-iam-policy opledger-effects-dead`, `.*\n`)},
		{"Pub/Sub may take dead letters off", redeploy, without(`^gcloud pubsub subscriptions get-iam-policy`, `.*\n`)},
		{"subscription opledger-effects-dead, where dead letters wait", redeploy, rule{Pattern: `^gcloud pubsub subscriptions describe opledger-effects-dead`, Code: 1}},
		{"scheduler job opledger-reconcile", "gcloud scheduler jobs resume", rule{Pattern: `scheduler jobs describe`, Out: "PAUSED " + account("scheduler") + " 2026-11-21T12:00:00Z \n"}},
		{"last run of opledger-reconcile", "gcloud scheduler jobs run", rule{Pattern: `scheduler jobs describe`, Out: "ENABLED " + account("scheduler") + "  \n"}},
		{"last run of opledger-reconcile", "the log of opledger-reconcile", rule{Pattern: `scheduler jobs describe`, Out: "ENABLED " + account("scheduler") + " 2026-11-21T12:00:00Z 7\n"}},
		{"Gemini's webhook", "it is disabled", rule{Pattern: `webhook check`, Out: "opledger: it is disabled; run opledger webhook create\n", Code: 1}},
	}) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			var gone world
			for _, p := range batch {
				gone = append(gone, p.rule)
			}
			r := doctor(t, append(gone, healthy...)).want(t, 1)
			missing := map[string]string{}
			for line := range strings.Lines(r.out) {
				if line, ok := strings.CutPrefix(line, "missing  "); ok {
					what, remedy, _ := strings.Cut(line, ": ")
					missing[what] = remedy
				}
			}
			for _, p := range batch {
				if !strings.Contains(missing[p.what], p.remedy) || missing[p.what] == "" {
					t.Errorf("%s: it says %q, want %q", p.what, missing[p.what], p.remedy)
				}
				delete(missing, p.what)
			}
			if len(missing) != 0 {
				t.Errorf("beside %v it misses %q", batch, missing)
			}
		})
	}
}

// A part is what doctor looks at, what it is to say where it is missing, and the answer that makes it so.
type part struct {
	what, remedy string
	rule         rule
}

// batches are parts that can be missing at once: no two are about the same answer. Without the first two nothing else is asked.
func batches(parts []part) (all [][]part) {
	all = [][]part{parts[:1], parts[1:2]}
next:
	for _, p := range parts[2:] {
		for i := 2; i < len(all); i++ {
			if !slices.ContainsFunc(all[i], func(other part) bool { return other.rule.Pattern == p.rule.Pattern }) {
				all[i] = append(all[i], p)
				continue next
			}
		}
		all = append(all, []part{p})
	}
	return all
}
