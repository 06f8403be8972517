package gcloud

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// held are grants beside those of the table, by the request for the policy that they are in, as an earlier run or an
// operator left them. The value says how gcloud takes one away, or is empty for one that stays.
var held = []struct{ policy, grant, away string }{
	{"projects get-iam-policy my-project",
		member("effects") + `|roles/datastore.user|ledger of opledger|resource.name == "projects/my-project/databases/old"`,
		"projects remove-iam-policy-binding my-project --project=my-project --member=" + member("effects") +
			` --role=roles/datastore.user --condition=title=ledger of opledger,` +
			`expression=resource.name == "projects/my-project/databases/old"`},
	{"projects get-iam-policy my-project", member("effects") + `|roles/datastore.user|mine|resource.name == "x"`, ""},
	{"projects get-iam-policy my-project", member("effects") + "|roles/bigquery.dataEditor||", ""},
	{"projects get-iam-policy my-project", "serviceAccount:opledger-staging-effects@my-project.iam.gserviceaccount.com" +
		"|roles/datastore.user|ledger of opledger-staging|x", ""},
	{"secrets get-iam-policy opledger-effect-secret", member("effects") + "|roles/secretmanager.secretAccessor||",
		"secrets remove-iam-policy-binding opledger-effect-secret --project=my-project --member=" + member("effects") +
			" --role=roles/secretmanager.secretAccessor"},
	{"secrets get-iam-policy opledger-gemini-api-key", "user:me@example.com|roles/secretmanager.secretAccessor||", ""},
	{"secrets get-iam-policy opledger-gemini-api-key", member("webhook") + "|roles/secretmanager.secretAccessor||",
		"secrets remove-iam-policy-binding opledger-gemini-api-key --project=my-project --member=" + member("webhook") +
			" --role=roles/secretmanager.secretAccessor"},
	{"secrets get-iam-policy opledger-gemini-api-key", member("effects") + "|roles/secretmanager.secretAccessor||",
		"secrets remove-iam-policy-binding opledger-gemini-api-key --project=my-project --member=" + member("effects") +
			" --role=roles/secretmanager.secretAccessor"},
	{"pubsub topics get-iam-policy opledger-effects", member("webhook") + "|roles/pubsub.admin||",
		"pubsub topics remove-iam-policy-binding opledger-effects --project=my-project --member=" + member("webhook") +
			" --role=roles/pubsub.admin"},
	{"run services get-iam-policy opledger-register", "user:kept@example.com|roles/run.invoker||", ""},
	{"run services get-iam-policy opledger-register", "user:viewer@example.com|roles/run.viewer||", ""},
	{"run services get-iam-policy opledger-register", "user:left@example.com|roles/run.invoker||",
		"run services remove-iam-policy-binding opledger-register --region=europe-west1 --project=my-project " +
			"--member=user:left@example.com --role=roles/run.invoker"},
	{"run services get-iam-policy opledger-effects", "user:me@example.com|roles/run.invoker||", ""},
	{"run services get-iam-policy opledger-effects", "allUsers|roles/run.invoker||",
		"run services remove-iam-policy-binding opledger-effects --region=europe-west1 --project=my-project " +
			"--member=allUsers --role=roles/run.invoker"},
	{"run services get-iam-policy opledger-effects", member("scheduler") + "|roles/run.invoker||",
		"run services remove-iam-policy-binding opledger-effects --region=europe-west1 --project=my-project " +
			"--member=" + member("scheduler") + " --role=roles/run.invoker"},
	{"run services get-iam-policy opledger-webhook", "serviceAccount:gateway@my-project.iam.gserviceaccount.com" +
		"|roles/run.invoker||", ""},
	{"storage buckets get-iam-policy gs://my-old", member("effects") + "|roles/storage.objectCreator||",
		"storage buckets remove-iam-policy-binding gs://my-old --project=my-project --member=" + member("effects") +
			" --role=roles/storage.objectCreator"},
	{"storage buckets get-iam-policy gs://my-old", member("effects") + "|roles/storage.legacyObjectReader||",
		"storage buckets remove-iam-policy-binding gs://my-old --project=my-project --member=" + member("effects") +
			" --role=roles/storage.legacyObjectReader"},
	{"storage buckets get-iam-policy gs://my-old", member("effects") + "|roles/storage.objectAdmin||", ""},
	{"storage buckets get-iam-policy gs://my-old", "user:me@example.com|roles/storage.objectCreator||", ""},
}

// holding is a deployed project with these grants, in which only reconcile asks Gemini.
func holding(t *testing.T) world {
	t.Helper()
	w := append(world{
		{Pattern: "^" + needs + "$", Out: "reconcile\n"},
		{Pattern: "^gcloud storage buckets list ", Out: "my-old\nmy-results\n"},
		{Pattern: "^gcloud storage buckets get-iam-policy gs://my-old "},
	}, deployed(t)...)
	for _, h := range held {
		i := slices.IndexFunc(w, func(r rule) bool { return strings.HasPrefix(r.Pattern, "^gcloud "+h.policy+" ") })
		if i < 0 {
			t.Fatalf("there is no policy for %s", h.policy)
		}
		if !strings.Contains(w[i].Out, h.grant+"\n") { // a deployed project has some of them
			w[i].Out += h.grant + "\n"
		}
	}
	return w
}

// away are the calls that take away what is to go.
func away() (all []string) {
	for _, h := range held {
		if h.away != "" {
			all = append(all, h.away)
		}
	}
	slices.Sort(all)
	return all
}

// TestDeployTakesAway: what an earlier run granted and this one does not name is taken away after the functions are
// deployed, and printed. What others have, and what accounts of the deployment have by other roles on things that it
// did not make, stays.
func TestDeployTakesAway(t *testing.T) {
	t.Parallel()
	options := []string{"--register-caller", "user:kept@example.com", "--results-bucket", "my-results"}
	w := holding(t).withOnly(t, "role", "source")
	r := deploy(t, w, options...).want(t, 0)
	var got []string
	deploying := true
	for _, c := range r.calls {
		deploying = deploying && !strings.HasPrefix(c.Line, "gcloud functions describe opledger-reconcile ")
		if line, ok := strings.CutPrefix(c.Line, "gcloud "); ok && strings.Contains(line, " remove-iam-policy-binding ") {
			line = strings.TrimSuffix(line, " --quiet --format=none")
			got = append(got, line)
			if deploying || !strings.Contains(r.stderr, "taken away, because it is not granted any more: gcloud "+line+"\n") {
				t.Errorf("it did this while deploying (%t), or did not say so: %s", deploying, line)
			}
		}
	}
	slices.Sort(got)
	compare(t, got, away())
	if harness.Thorough(t) { // TestDryRun has the same of a whole deployment
		dry := deploy(t, holding(t)[:1].withOnly(t, "role", "source"), append(options, "--dry-run")...)
		compare(t, bash(t, w, "", script(t, dry)).want(t, 0).lines(), r.lines())
	}
	if taken := second(t).matching("remove-iam-policy-binding"); len(taken) != 0 {
		t.Errorf("a second run with the same options took away %v", taken)
	}

	private := deploy(t, holding(t).withOnly(t, "role everybody"), append(options, "--private-webhook")...).want(t, 0)
	if len(private.matching("run services remove-iam-policy-binding opledger-webhook", "--member=allUsers")) != 1 {
		t.Errorf("a webhook that is not public any more is open to all: %q", private.matching("opledger-webhook"))
	}
	if !regexp.MustCompile(`scripts/doctor [^\n]*(\\\n[^\n]*)* --private-webhook\n`).MatchString(private.out) {
		t.Errorf("it does not say how doctor is told of it: %s", private.out)
	}
}

// TestBucketsThatCannotBeRead: a bucket of another team, whose policy the deployer may not read, stops nothing and is
// reported.
func TestBucketsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	closed := world{
		{Pattern: "^gcloud storage buckets list ", Out: "closed\nmy-old\n"},
		{Pattern: "^gcloud storage buckets get-iam-policy gs://closed ", Err: "ERROR: 403\n", Code: 1},
	}
	r := bash(t, append(closed, holding(t)...), "", "-euc", `. scripts/common.sh; . scripts/roles.sh; . scripts/surplus.sh
		project=my-project; name_everything; read_tables
		on_each take_away "storage buckets" gs:// "$(ours_on bucket -)" my-results`).want(t, 0)
	if !strings.Contains(r.stderr, "what is granted on gs://closed is not known") ||
		len(r.matching("remove-iam-policy-binding gs://my-old")) != 2 {
		t.Errorf("it called %q and said %s", r.lines(), r.stderr)
	}
}

// TestGrantsKeepTheLastAnswer: granting and taking away leave alone what a setting was found to be.
func TestGrantsKeepTheLastAnswer(t *testing.T) {
	t.Parallel()
	r := bash(t, nil, "", "-euc", `. scripts/common.sh; . scripts/roles.sh; . scripts/surplus.sh
		project=my-project project_number=1 sign_effects='' private_webhook='' dry_run=yes; name_everything; read_tables
		deployed_value OPLEDGER_TOPIC; grant subscription; withdraw; printf 'the answer is %s.\n' "$text"`).want(t, 0)
	if !strings.Contains(r.out, "--member=") || !strings.HasSuffix(r.out, "the answer is opledger-effects.\n") {
		t.Error(r.out)
	}
}

// TestDoctorListsWhatIsTooMuch: each grant that deploy would take away is a line, with the command.
func TestDoctorListsWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	w := unsigned(holding(t)).withOnly(t, "role", "source")
	r := doctor(t, w, "--register-caller", "user:kept@example.com").want(t, 1)
	var got []string
	for line := range strings.Lines(r.out) {
		switch {
		case strings.HasPrefix(line, "missing "):
			t.Errorf("it says %s", line)
		case strings.HasPrefix(line, "too much "):
			_, command, _ := strings.Cut(line, ": gcloud ")
			command, meant, _ := strings.Cut(strings.TrimSuffix(command, "\n"), ", unless it was deployed with ")
			if strings.Contains(command, "left@example.com") != (meant == "--register-caller user:left@example.com") {
				t.Errorf("it says %s", line)
			}
			got = append(got, strings.ReplaceAll(command, "'", ""))
		}
	}
	slices.Sort(got)
	compare(t, got, away())
	if len(r.matching("remove-iam-policy-binding")) != 0 || !strings.Contains(r.out, " too much\n") {
		t.Errorf("it changed something, or says only %s", r.out)
	}
}

// TestTeardownTakesAway: no bucket of the operator keeps a grant to an account that is gone.
func TestTeardownTakesAway(t *testing.T) {
	t.Parallel()
	w := holding(t).withOnly(t, "role effects")
	r := bash(t, w, "", "scripts/teardown", "--project", project, "--yes").want(t, 0)
	for _, bucket := range []string{"my-old", "my-results"} {
		taken := r.matching("storage buckets remove-iam-policy-binding gs://" + bucket + " ")
		if len(taken) != 2 || taken[0].flag("--member") != member("effects") {
			t.Errorf("of %s it took away %+v", bucket, taken)
		}
	}
}

// withOwnSecrets is a deployed project with secrets of the operator: an effect names one, by the number of its project,
// and each may be read by Effects.
func withOwnSecrets(t *testing.T) world {
	t.Helper()
	held := member("effects") + "|roles/secretmanager.secretAccessor||\n"
	return append(world{
		{Pattern: "^" + needs + "$", Out: "reconcile\nsecret projects/123/secrets/crm-token\n"},
		{Pattern: "^gcloud secrets list ", Out: "closed\ncrm-token\ncrm-old\nopledger-webhook-secret\n"},
		{Pattern: "^gcloud secrets get-iam-policy closed ", Err: "ERROR: 403\n", Code: 1},
		{Pattern: "^gcloud secrets get-iam-policy crm-old ",
			Out: held + "user:me@example.com|roles/secretmanager.secretAccessor||\n"},
		{Pattern: "^gcloud secrets get-iam-policy crm-token ", Out: held},
		{Pattern: "^gcloud secrets get-iam-policy projects/123/secrets/crm-token ", Out: held},
	}, deployed(t)...)
}

// TestOwnSecretsAreLeft: deploy takes nothing away on secrets that no effect names any more, since handlers in Go may
// read them. It prints the command. Teardown takes away what an account has that is gone.
func TestOwnSecretsAreLeft(t *testing.T) {
	t.Parallel()
	removal := func(name string) string {
		return "gcloud secrets remove-iam-policy-binding " + name + " --project=my-project --member=" + member("effects") +
			" --role=roles/secretmanager.secretAccessor"
	}
	w := withOwnSecrets(t).withOnly(t, "role effects")
	r := deploy(t, w).want(t, 0)
	if taken := r.matching("secrets remove-iam-policy-binding crm-"); len(taken) != 0 {
		t.Errorf("it took away %+v", taken)
	}
	if n := strings.Count(r.stderr, "take it away: "); n != 1 ||
		!strings.Contains(r.stderr, "take it away: "+removal("crm-old")+"\n") ||
		!strings.Contains(r.stderr, "what is granted on closed is not known\n") {
		t.Errorf("it points out %d, and says %s", n, r.stderr)
	}
	if harness.Thorough(t) { // TestDryRun has the same of a whole deployment
		dry := deploy(t, withOwnSecrets(t)[:1].withOnly(t, "role effects"), "--dry-run")
		really := bash(t, w, "", script(t, dry)).want(t, 0)
		compare(t, really.lines(), r.lines())
		if !strings.Contains(really.stderr, "take it away: "+removal("crm-old")+"\n") {
			t.Errorf("the printed script says %s", really.stderr)
		}
	}

	r = bash(t, w, "", "scripts/teardown", "--project", project, "--yes").want(t, 0)
	var taken []string
	for _, c := range r.matching("secrets remove-iam-policy-binding ") {
		taken = append(taken, strings.TrimSuffix(c.Line, " --quiet --format=none"))
	}
	compare(t, taken, []string{removal("crm-token"), removal("crm-old")})
}
