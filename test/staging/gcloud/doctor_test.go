package gcloud

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func doctor(t *testing.T, w world, options ...string) run {
	t.Helper()
	return bash(t, w, "", append([]string{"scripts/doctor", "--project", project, "--results-bucket", "my-results"},
		options...)...)
}

// healthy is doctor's run in a project in which nothing is missing.
var healthy = once(func(t *testing.T) run { return doctor(t, deployed(t)) })

// TestDoctorOfAHealthyProject: everything is ok, and nothing was changed.
func TestDoctorOfAHealthyProject(t *testing.T) {
	t.Parallel()
	r := healthy(t)
	if strings.Contains(r.out, "missing  ") || strings.Contains(r.out, "too much ") ||
		!strings.HasSuffix(r.out, "nothing is missing\n") ||
		strings.Count(r.out, "ok       ") < 60 {
		t.Errorf("it says %s", r.out)
	}
	changes := regexp.MustCompile(` (create|delete|update|deploy|add|add-iam-policy-binding|enable|PATCH|POST|DELETE) `)
	for _, c := range r.calls {
		if changes.MatchString(c.Line) {
			t.Errorf("it called %s", c.Line)
		}
	}
}

// TestDoctorChecksAll: doctor checks everything that deploy makes.
func TestDoctorChecksAll(t *testing.T) {
	t.Parallel()
	looked := strings.Join(healthy(t).lines(), " \n") + " "
	made := 0
	for _, c := range first(t).calls {
		for i, word := range c.Args {
			if word != "create" && word != "deploy" {
				continue
			}
			name := c.Args[i+1]
			switch kind := strings.Join(c.Args[1:i], " "); {
			case kind == "scheduler jobs":
				name = c.Args[i+2] // after http
			case kind == "firestore databases":
				name = name[strings.Index(name, "=")+1:]
			case kind == "firestore backups schedules" || kind == "firestore indexes composite" ||
				kind == "iam service-accounts" || kind == "logging metrics":
				continue // one request for all of them; TestDoctor has one that is missing
			}
			made++
			if !strings.Contains(looked, " "+name+" ") && !strings.Contains(looked, "="+name+" ") {
				t.Errorf("doctor does not check %s, which %s makes", name, c.Line)
			}
		}
	}
	if made < 14 {
		t.Errorf("deploy made %d things: has the form of its calls changed?", made)
	}
}

// TestDoctorUnsigned: if effects are not signed, their secret is not missing.
func TestDoctorUnsigned(t *testing.T) {
	t.Parallel()
	w := append(world{{Pattern: `opledger-effect-secret`, Code: 1}}, unsigned(deployed(t))...)
	r := doctor(t, w.withOnly(t, onSecrets...)).want(t, 0)
	if len(r.matching("versions list opledger-effect-secret")) != 0 {
		t.Errorf("it asked about the secret: %s", r.out)
	}
}

// unsigned returns a world in which effects are not signed.
func unsigned(w world) world {
	for i := range w {
		w[i].Out = regexp.MustCompile(`(?m)^.*OPLEDGER_EFFECT_SECRET=.*\n`).ReplaceAllString(w[i].Out, "")
	}
	return w
}

// TestDoctorWithoutAStaticWebhook: without a static webhook its secret is not missing, and the
// check of the webhook is told which kind is deployed.
func TestDoctorWithoutAStaticWebhook(t *testing.T) {
	t.Parallel()
	unset := rule{Pattern: `versions list opledger-webhook`}
	for _, kind := range []string{"dynamic", "none"} {
		w := deployed(t)
		for i := range w {
			if strings.HasPrefix(w[i].Pattern, `^gcloud functions describe opledger-reconcile`) && strings.HasPrefix(w[i].Out,
				"state=") {
				w[i].Out += "serviceConfig.environmentVariables.OPLEDGER_WEBHOOK=" + kind + "\n"
			}
		}
		r := doctor(t, append(world{unset}, w...).withOnly(t)).want(t, 0)
		check := r.matching("go run ./scripts/opledger webhook check")
		if len(check) != 1 || !slices.Contains(check[0].Env, "OPLEDGER_WEBHOOK="+kind) {
			t.Errorf("%s: it called %+v", kind, check)
		}
	}
}

// TestDoctorLive: with --live the canary runs with the settings of the deployment, and what it finds
// cut counts as missing.
func TestDoctorLive(t *testing.T) {
	t.Parallel()
	const canary = "go run ./scripts/opledger canary"
	w := append(world{{Pattern: `^gcloud auth print-identity-token`, Out: "identity\n"}}, deployed(t)...).withOnly(t)
	r := doctor(t, w, "--live").want(t, 0)
	ran := r.matching(canary)
	if len(ran) != 1 || !strings.HasSuffix(ran[0].Line, " --region=europe-west1 --prefix=opledger") {
		t.Fatalf("it called %+v", ran)
	}
	for _, setting := range []string{
		"GOOGLE_CLOUD_PROJECT=my-project", "OPLEDGER_STORE=firestore:opledger", "OPLEDGER_TOPIC=opledger-effects",
		"OPLEDGER_WEBHOOK_SECRET=projects/my-project/secrets/opledger-webhook-secret",
		"OPLEDGER_WEBHOOK_URL=" + address("webhook"), "OPLEDGER_URL=" + address("register"), "OPLEDGER_TOKEN=identity",
	} {
		if !slices.Contains(ran[0].Env, setting) {
			t.Errorf("the canary's environment has no %s", setting)
		}
	}
	if ran = doctor(t, w, "--spend").want(t, 0).matching(canary); len(ran) != 1 ||
		!strings.HasSuffix(ran[0].Line, " --prefix=opledger --spend") ||
		!slices.Contains(ran[0].Env, "OPLEDGER_GEMINI_API_KEY_SECRET=projects/my-project/secrets/opledger-gemini-api-key") {
		t.Errorf("with --spend it called %+v", ran)
	}
	cut := append(world{{Pattern: canary, Out: "failed    push, 1s\n", Code: 1}}, w...)
	r = doctor(t, cut, "--live").want(t, 1)
	if !strings.HasSuffix(r.out, "failed    push, 1s\nmissing  what was sent arrives: see above\n1 missing\n") {
		t.Errorf("it says %s", r.out)
	}
	if len(doctor(t, cut).want(t, 0).matching(canary)) != 0 {
		t.Error("it runs the canary without --live")
	}
}

// TestDoctorConcurrency: how many messages Effects handles at once is compared with the service, which
// Terraform has a variable for.
func TestDoctorConcurrency(t *testing.T) {
	t.Parallel()
	other := becomes(`^gcloud functions describe opledger-effects`, `(?m)^concurrency=20$`, "concurrency=10").
		of(t, deployed(t)).withOnly(t)
	if r := doctor(t, other).want(t, 1); !strings.Contains(r.out, "\nmissing  effects has OPLEDGER_EFFECTS_SLOTS: ") {
		t.Errorf("it says %s", r.out)
	}
	doctor(t, becomes(`^gcloud functions describe opledger-effects`, `SLOTS=20`, "SLOTS=10").of(t, other)).want(t, 0)
}

// TestDoctorQuota: the vCPU that the functions may use are compared with those of the region; what
// cannot be read is no part that is missing.
func TestDoctorQuota(t *testing.T) {
	t.Parallel()
	few := func() world { return deployed(t).withOnly(t) }
	unlimited := becomes(vcpuQuota, `"20000"`, `"-1"`).of(t, few())
	unread := append(world{{Pattern: vcpuQuota, Out: `{"error":{"code":403}}`, Code: 22}}, few()...)
	for want, w := range map[string]world{
		"\nok       vCPU quota of europe-west1, 20, of which the functions may use 20\n": few(),
		"\nok       vCPU quota of europe-west1, unlimited, of which":                     unlimited,
		"\nnote     vCPU quota of europe-west1: the functions may use 20 vCPU; what":     unread,
	} {
		if r := doctor(t, w).want(t, 0); !strings.Contains(r.out, want) {
			t.Errorf("it does not say %q: %s", want, r.out)
		}
	}
}

// TestDoctorPrivateWebhook: a webhook that was deployed as not public is not missing allUsers, and has
// too much with it.
func TestDoctorPrivateWebhook(t *testing.T) {
	t.Parallel()
	public := deployed(t).withOnly(t, "role everybody")
	r := doctor(t, public, "--private-webhook").want(t, 1)
	if !strings.Contains(r.out, "\ntoo much allUsers") || strings.Contains(r.out, "missing  ") {
		t.Errorf("it says %s", r.out)
	}
	closed := public
	for _, r := range roles(t) {
		if r.who == "everybody" {
			closed = without(r.policy(), "^"+regexp.QuoteMeta(r.line())).of(t, closed)
		}
	}
	gateway := doctor(t, closed, "--private-webhook").want(t, 0)
	if len(gateway.matching("--write-out")) != 0 {
		t.Error("it asks a webhook that only a gateway may call")
	}
	unchecked := append(world{{Pattern: webhookAnswers, Out: "403"}}, closed...)
	if r := doctor(t, unchecked, "--no-invoker-check").want(t, 1); !strings.Contains(r.out,
		"it is 403: gcloud run services update opledger-webhook --region=europe-west1 --project=my-project "+
			"--no-invoker-iam-check") || !strings.HasSuffix(r.out, "\n1 missing\n") {
		t.Errorf("it says %s", r.out)
	}
	doctor(t, closed, "--no-invoker-check").want(t, 0)
	if r := doctor(t, closed).want(t, 1); !strings.Contains(r.out, "--private-webhook") {
		t.Errorf("it does not say how it is told of it: %s", r.out)
	}
}

// TestDoctorBackups: a ledger without a backup is reported, unless it was deployed so, which is in the
// command that deploy prints.
func TestDoctorBackups(t *testing.T) {
	t.Parallel()
	none := append(world{{Pattern: `^gcloud firestore backups schedules list`}}, deployed(t)...).withOnly(t)
	r := doctor(t, none).want(t, 1)
	if !strings.Contains(r.out, "\nmissing  backup schedule of opledger: ") || !strings.HasSuffix(r.out, "\n1 missing\n") {
		t.Errorf("it says %s", r.out)
	}
	doctor(t, none, "--backup-days", "0").want(t, 0)
	if r := deploy(t, none, "--backup-days", "0").want(t, 0); !regexp.MustCompile(`scripts/doctor .* --backup-days 0\n`).
		MatchString(r.out) {
		t.Errorf("deploy does not say how doctor is told of it: %s", r.out)
	}
}

// TestDoctor: it reports exactly the missing parts, and what to do about each.
func TestDoctor(t *testing.T) {
	t.Parallel()
	const redeploy = "scripts/deploy --project my-project"
	parts := []part{
		{"login", "gcloud auth login", without(`^gcloud auth list`, `.*\n`)},
		{"project my-project", "gcloud projects list", instead(rule{Pattern: `^gcloud projects describe`, Code: 1})},
		{"API run", "gcloud services enable run.googleapis.com", without(`^gcloud services list`, `^run\.googleapis\.com\n`)},
		{"Firestore database opledger, optimistic", redeploy,
			instead(rule{Pattern: `databases describe`, Out: "FIRESTORE_NATIVE PESSIMISTIC\n"})},
		{"index operations state:ascending,dueAt:ascending", redeploy, without(`^gcloud firestore indexes composite list`,
			`^operations COLLECTION_GROUP state,dueAt.*\n`)},
		{"exemption effects.*", redeploy, without(`^gcloud firestore indexes fields list`, `^effects \* .*\n`)},
		{"index effects dueAt COLLECTION_GROUP:ASCENDING", redeploy,
			without(`^gcloud firestore indexes fields list`, `^effects dueAt.*\n`)},
		{"exemption operations.metadata", redeploy, without(`^gcloud firestore indexes fields list`,
			`^operations metadata.*\n`)},
		{"TTL deliveries.expireAt", redeploy, without(`^gcloud firestore indexes fields list`, `^deliveries expireAt.*\n`)},
		{"index operations state:ascending,dueAt:ascending", "it is CREATING: wait some minutes",
			becomes(`^gcloud firestore indexes composite list`,
				`^(operations COLLECTION_GROUP state,dueAt,.*)READY$`, "${1}CREATING")},
		{"index operations state:ascending,dueAt:ascending", "it is NEEDS_REPAIR: delete it",
			becomes(`^gcloud firestore indexes composite list`,
				`^(operations COLLECTION_GROUP state,dueAt,.*)READY$`, "${1}NEEDS_REPAIR")},
		{"index effects dueAt COLLECTION_GROUP:ASCENDING", "it is CREATING: wait some minutes",
			becomes(`^gcloud firestore indexes fields list`,
				`^(effects dueAt .*)READY $`, "${1}CREATING ")},
		{"TTL deliveries.expireAt", "it is CREATING: wait some minutes", becomes(`^gcloud firestore indexes fields list`,
			`^(deliveries expireAt .*)ACTIVE$`, "${1}CREATING")},
		{"TTL deliveries.expireAt", redeploy, becomes(`^gcloud firestore indexes fields list`,
			`^(deliveries expireAt .*)ACTIVE$`, "${1}NEEDS_REPAIR")},
		{"bucket my-jobs, with uniform access and never public", redeploy, without(bucketAccess, ` enforced`)},
		{"bucket my-jobs deletes by age what crashes left, and nothing else", redeploy,
			without(bucketLifecycle, `^Delete .*\n`)},
		{"bucket my-jobs deletes by age what crashes left, and nothing else", redeploy,
			becomes(bucketLifecycle, `^SetStorageClass`, "Delete")},
		{"secret opledger-webhook-secret", redeploy, instead(rule{Pattern: `secrets describe opledger-webhook`, Code: 1})},
		{"version of secret opledger-webhook-secret", "opledger webhook create",
			instead(rule{Pattern: `versions list opledger-webhook`})},
		{"version of secret opledger-gemini-api-key", "gcloud secrets versions add opledger-gemini-api-key --data-file=-",
			instead(rule{Pattern: `versions list opledger-gemini`})},
		{"function opledger-register", "gcloud functions logs read opledger-register",
			without(`^gcloud functions describe opledger-register`, `^state=ACTIVE\n`)},
		{"webhook has OPLEDGER_STORE", redeploy, without(`^gcloud functions describe opledger-webhook`, `:opledger$`)},
		{"reconcile has OPLEDGER_WEBHOOK_URL", redeploy, without(`^gcloud functions describe opledger-reconcile`,
			`.*OPLEDGER_WEBHOOK_URL.*\n`)},
		{"OPLEDGER_GRACE is the same in webhook,register,reconcile,effects", "one value: terraform apply, or scripts/deploy",
			without(`^gcloud functions describe opledger-effects`, `.*OPLEDGER_GRACE.*\n`)},
		{"account opledger-push", redeploy, without(`^gcloud iam service-accounts list`, `^opledger-push@.*\n`)},
		{"register runs as an account of its own", redeploy, without(`^gcloud functions describe opledger-register`,
			`opledger-register@`)},
		{"effects accepts requests from Google Cloud only", redeploy, without(`^gcloud functions describe opledger-effects`,
			`_INTERNAL_ONLY`)},
		{"push subscription opledger-effects", redeploy,
			without(`^gcloud pubsub subscriptions describe opledger-effects .*pushEndpoint`,
				`/projects/my-project/topics/opledger-effects`)},
		{"push subscription opledger-effects", redeploy,
			without(`^gcloud pubsub subscriptions describe opledger-effects .*pushEndpoint`, ` https:.*`)},
		{"deadline and back-off of subscription opledger-effects", redeploy,
			without(`^gcloud pubsub subscriptions describe opledger-effects .*ackDeadline`, ` 10s`)},
		{"dead letters of subscription opledger-effects", redeploy,
			without(`^gcloud pubsub subscriptions describe opledger-effects .*deadLetter`, `0$`)},
		{"subscription opledger-effects-dead, where dead letters wait", redeploy,
			instead(rule{Pattern: `^gcloud pubsub subscriptions describe opledger-effects-dead `, Out: "_deleted-topic_\n"})},
		{"what scheduler job opledger-reconcile calls", redeploy, without(`^gcloud scheduler jobs describe .*httpTarget`,
			`/ `)},
		{"scheduler job opledger-reconcile", "gcloud scheduler jobs resume",
			instead(rule{Pattern: `lastAttemptTime`, Out: "PAUSED 2026-11-21T12:00:00Z \n"})},
		{"last run of opledger-reconcile", "it has not run yet: gcloud scheduler jobs run",
			instead(rule{Pattern: `lastAttemptTime`, Out: "ENABLED  \n"})},
		{"last run of opledger-reconcile",
			"it failed with code 7, PERMISSION_DENIED: number = 403; see infra/playbooks/schedule-failing.md, then gcloud " +
				"scheduler jobs run",
			instead(rule{Pattern: `lastAttemptTime`, Out: "ENABLED 2026-11-21T12:00:00Z 7\n"})},
		{"schedule of opledger-reconcile, */5 * * * *", redeploy,
			instead(rule{Pattern: `value\(schedule\)`, Out: "*/10 * * * *\n"})},
		{"metric opledger-passes", redeploy, without(metricsListed, `^opledger-passes\n`)},
		{"alert reconciliation has stopped", redeploy,
			without(policiesListed, `\{"name":[^{]*: reconciliation has stopped"[^}]*\},?`)},
		{"recipient of alerts", "--notify WHO@example.com",
			without(policiesListed, `"projects/my-project/notificationChannels/1"`)},
		{"answer 405 of the webhook to a GET", "it is 403: see infra/playbooks/webhook-unreachable.md",
			instead(rule{Pattern: webhookAnswers, Out: "403"})},
		{"vCPU quota of europe-west1, 10, of which the functions may use 20", "--max-instances",
			becomes(vcpuQuota, `"20000"`, `"10000"`)},
		{"Gemini's webhook", "wrong  it is disabled; delete it",
			instead(rule{Pattern: `webhook check`,
				Out: "ok     it delivers\nwrong  it is disabled; delete it\nopledger: 1 of 2 is wrong\n", Code: 1})},
	}
	for _, r := range roles(t) {
		if r.who != "callers" { // by default there are none
			parts = append(parts, part{r.who + " may " + r.why, redeploy, without(r.policy(), "^"+regexp.QuoteMeta(r.line()))})
		}
	}
	for _, batch := range batches(parts) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			w := deployed(t)
			for _, p := range batch {
				w = p.change.of(t, w)
			}
			r := doctor(t, w.withOnly(t, "role", "source", "index operations", "field effects", "unindexed operations",
				"unindexed effects", "expiry deliveries", "metric passes", "policy passes")).want(t, 1)
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
				t.Errorf("beside what is missing it says %q", missing)
			}
		})
	}
}

// A part is something that doctor checks, its report if it is missing, and the change of the world that
// makes it missing.
type part struct {
	what, remedy string
	change       change
}

// A change is of the answer to some calls.
type change struct {
	pattern string                  // of the rule that answers them
	answer  func(now string) string // nil: the rule takes precedence over what the world has
	rule    rule
}
