package gcloud

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// keyFile is in the source tree, and stands for a file with an API key.
const keyFile = "test/staging/gcloud/testdata/key"

func deploy(t *testing.T, w world, args ...string) run {
	t.Helper()
	return bash(t, w, "", append([]string{"scripts/deploy", "--project", project}, args...)...)
}

// options are most of what a deployment may have.
var options = []string{
	"--gemini-key-file", keyFile, "--sign-effects", "--register-caller", "group:submitters@example.com",
	"--location=eur3", "--results-bucket", "my-results", "--job-bucket", "gs://my-jobs",
	"--notify", "ops@example.com", "--notify=projects/my-project/notificationChannels/7",
	"--set", "OPLEDGER_EFFECTS=- {name: a, do: \"it's\"}\n- b", "--set", "OPLEDGER_INTERVAL=10m",
}

// A deployment costs a second of processor time. The tests that only look at one share these: the runs
// in an empty project and in a deployed one; and with few entries in the tables, the same and what
// --dry-run prints.
var (
	first  = once(func(t *testing.T) run { return deploy(t, empty(), options...) })
	second = once(func(t *testing.T) run { return deploy(t, deployed(t), options...) })

	few     = once(func(t *testing.T) run { return deploy(t, empty().withFew(t), options...) })
	printed = once(func(t *testing.T) run { return deploy(t, world{}.withFew(t), append(options, "--dry-run")...) })
)

// once returns a function that runs a script the first time that it is called, and wants it to
// succeed.
func once(do func(*testing.T) run) func(*testing.T) run {
	var once sync.Once
	var made run
	return func(t *testing.T) run {
		t.Helper()
		once.Do(func() { made = do(t) })
		return made.want(t, 0)
	}
}

// script writes down what --dry-run printed.
func script(t *testing.T, printed run) (file string) {
	t.Helper()
	if len(printed.calls) != 0 {
		t.Fatalf("it called %q", printed.lines())
	}
	file = filepath.Join(t.TempDir(), "printed")
	if err := os.WriteFile(file, []byte(printed.out), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestDryRun: --dry-run runs nothing, and prints a script that makes the calls of the real run in
// the same order, in an empty project and in a deployed one.
func TestDryRun(t *testing.T) {
	t.Parallel()
	compare(t, bash(t, empty(), "", script(t, printed(t))).want(t, 0).lines(), few(t).lines())
	compare(t, bash(t, deployed(t), "", script(t, printed(t))).want(t, 0).lines(),
		deploy(t, deployed(t).withFew(t), options...).want(t, 0).lines())
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("call %d differs:\n%q\nwant\n%q", i, got[min(i, len(got)):min(i+1, len(got))],
				want[min(i, len(want)):min(i+1, len(want))])
		}
	}
}

// TestSecondRun: in a deployed project nothing is made again; functions and settings are deployed
// again.
func TestSecondRun(t *testing.T) {
	t.Parallel()
	r := second(t)
	for _, c := range r.calls {
		if strings.Contains(c.Line, " create ") || strings.Contains(c.Line, "versions add") || strings.Contains(c.Line,
			"/fields/") {
			t.Errorf("it called %s", c.Line)
		}
	}
	if n := len(r.matching("gcloud functions deploy")); n != 4 {
		t.Errorf("%d functions were deployed", n)
	}
}

// TestFirstRun checks what a deployment consists of: the roles, the callers, and the settings of
// each function.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	options := []string{
		"--gemini-key-file", keyFile, "--register-caller", "user:a@example.com", "--sign-effects", "--results-bucket",
		"gs://my-results", "--job-bucket", "my-jobs",
	}
	for _, setting := range table(t, "setting") {
		if value := "value of " + setting[0]; setting[1] == "operator" {
			if setting[0] == "OPLEDGER_INTERVAL" {
				value = "10m"
			}
			options = append(options, "--set", setting[0]+"="+value)
		}
	}
	r := deploy(t, empty().withOnly(t, "role", "source"), options...).want(t, 0)

	const sourceOnly = "title=source of functions,expression=" + sourceBuckets
	t.Run("roles", func(t *testing.T) {
		var want, got []string
		for _, r := range roles(t) {
			kind, name := r.resource()
			binding := fmt.Sprintf("%s %s %s %s", r.member(), r.role, kind, name)
			switch r.only {
			case "public_webhook":
				binding = "allUsers may call webhook"
			case "register_callers":
				binding = "user:a@example.com roles/run.invoker run services opledger-register"
			}
			want = append(want, binding)
		}
		for _, c := range r.matching("add-iam-policy-binding") {
			resource, name, _ := strings.Cut(c.Line, " add-iam-policy-binding ")
			name, _, _ = strings.Cut(name, " ")
			got = append(got, fmt.Sprintf("%s %s %s %s", c.flag("--member"), c.flag("--role"),
				strings.TrimPrefix(resource, "gcloud "), name))
			if c.flag("--role") == "roles/datastore.user" && !strings.HasSuffix(c.flag("--condition"),
				`resource.name == "projects/my-project/databases/opledger"`) ||
				c.flag("--role") == "roles/storage.objectViewer" && c.flag("--condition") != sourceOnly {
				t.Errorf("the role is for more than it is needed for: %s", c.Line)
			}
		}
		for _, c := range r.matching("functions deploy", " --allow-unauthenticated") {
			got = append(got, "allUsers may call "+strings.TrimPrefix(c.Args[3], "opledger-"))
		}
		slices.Sort(got)
		slices.Sort(want)
		compare(t, got, want)
	})

	t.Run("settings", func(t *testing.T) {
		for _, c := range r.matching("gcloud functions deploy") {
			function := strings.TrimPrefix(c.Args[3], "opledger-")
			var want []string
			for _, setting := range table(t, "setting") {
				if setting[1] != "never" && strings.Contains(","+setting[2]+",", ","+function+",") {
					want = append(want, setting[0])
				}
			}
			var got []string
			for setting := range strings.SplitSeq(c.flag("--set-env-vars"), ",") {
				name, value, _ := strings.Cut(setting, "=")
				if strings.HasPrefix(value, "value of ") && value != "value of "+name {
					t.Errorf("%s has %s", function, setting)
				}
				got = append(got, name)
			}
			compare(t, got, want)
			if c.flag("--entry-point") != strings.ToUpper(function[:1])+function[1:] || c.flag("--source") != "dist/"+function ||
				c.flag("--service-account") != account(function) ||
				!regexp.MustCompile(`^go\d+$`).MatchString(c.flag("--runtime")) {
				t.Errorf("deployed as %s", c.Line)
			}
		}
	})

	t.Run("calls", func(t *testing.T) {
		job := r.matching("scheduler jobs create http opledger-reconcile")
		if len(job) != 1 || job[0].flag("--schedule") != "*/10 * * * *" || job[0].flag("--uri") != address("reconcile")+"/" ||
			job[0].flag("--oidc-service-account-email") != account("scheduler") ||
			job[0].flag("--oidc-token-audience") != address("reconcile") {
			t.Errorf("the schedule is %+v", job)
		}
		push := r.matching("pubsub subscriptions create opledger-effects --topic=opledger-effects ")
		if len(push) != 1 ||
			push[0].flag("--push-endpoint") != address("effects")+"/projects/my-project/topics/opledger-effects" ||
			push[0].flag("--push-auth-token-audience") != address("effects") ||
			push[0].flag("--push-auth-service-account") != account("push") ||
			push[0].flag("--dead-letter-topic") != "opledger-effects-dead" {
			t.Errorf("the subscription is %+v", push)
		}
	})

	t.Run("next", func(t *testing.T) {
		for _, want := range []string{"webhook   " + address("webhook"), "register  " + address("register"),
			"scripts/doctor --project my-project"} {
			if !strings.Contains(r.out, want) {
				t.Errorf("it does not say %q at the end: %s", want, r.out)
			}
		}
	})
}

// TestSamePlace: a deployment in another region, or of another prefix on the same ledger, is refused
// with the reason before anything is made. Other functions and other ledgers do not matter.
func TestSamePlace(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"opledger-webhook us-central1 firestore:opledger": "opledger-webhook is in us-central1, and stays there: use " +
			"--region us-central1",
		"other-effects europe-west1 firestore:opledger": "other-effects uses the ledger firestore:opledger: use " +
			"--prefix other",
	} {
		w := append(world{{Pattern: `^gcloud functions list`, Out: list + "\n"}}, empty()...).withOnly(t)
		r := deploy(t, w, "--gemini-key-file", keyFile).want(t, 1)
		if !strings.Contains(r.stderr, want) || len(r.matching(" create ")) != 0 {
			t.Errorf("it says %q and called %q", r.stderr, r.lines())
		}
	}
	const beside = "opledger-webhook europe-west1 firestore:opledger\nmine us-central1 \n" +
		"opledger-b-webhook us-central1 firestore:b\n"
	w := append(world{{Pattern: `^gcloud functions list`, Out: beside}}, deployed(t)...).withOnly(t)
	deploy(t, w).want(t, 0)
}

// TestMaxInstances: a function has as many instances as was said last, and all others their defaults,
// of which a new project has enough vCPU.
func TestMaxInstances(t *testing.T) {
	t.Parallel()
	r := deploy(t, empty().withOnly(t), "--gemini-key-file", keyFile, "--max-instances", "webhook=30",
		"--max-instances=webhook=12").want(t, 0)
	var got []string
	for _, c := range r.matching("gcloud functions deploy") {
		got = append(got, strings.TrimPrefix(c.Args[3], "opledger-")+"="+c.flag("--max-instances"))
	}
	compare(t, got, []string{"effects=7", "webhook=12", "register=3", "reconcile=2"})
}

// TestConnector: Effects alone goes through the connector, of which an earlier one is taken off. The
// webhook may be reached by a load balancer alone.
func TestConnector(t *testing.T) {
	t.Parallel()
	w := deployed(t).withOnly(t)
	r := deploy(t, w, "--effects-connector", "mine", "--effects-egress", "all", "--webhook-ingress=internal-and-gclb",
		"--webhook-url", "https://hooks.example.com").want(t, 0)
	if len(r.matching("functions deploy opledger-webhook", "--ingress-settings=internal-and-gclb")) != 1 {
		t.Errorf("it called %q", r.lines())
	}
	through := r.matching("--vpc-connector=mine --egress-settings=all")
	if len(through) != 1 || through[0].Args[3] != "opledger-effects" {
		t.Errorf("it called %q", r.lines())
	}
	off := second(t).matching("--clear-vpc-connector")
	if len(off) != 1 || off[0].Args[3] != "opledger-effects" {
		t.Errorf("it called %q", second(t).lines())
	}
}

// TestInvokerCheck: Cloud Run's check of the webhook's callers is set after each deployment of the
// function, which may undo it; a public webhook needs none of that. Doctor is told of it.
func TestInvokerCheck(t *testing.T) {
	t.Parallel()
	const option = "--no-invoker-check"
	r := deploy(t, deployed(t).withOnly(t), option).want(t, 0)
	at := slices.IndexFunc(r.calls, func(c call) bool {
		return strings.HasPrefix(c.Line, "gcloud functions deploy opledger-webhook ") &&
			slices.Contains(c.Args, "--no-allow-unauthenticated")
	})
	const next = "gcloud run services update opledger-webhook --region=europe-west1 --no-invoker-iam-check "
	if at < 0 || !strings.HasPrefix(r.calls[at+1].Line, next) || !strings.Contains(r.out, " "+option+"\n") {
		t.Errorf("it called %q, and says %s", r.lines(), r.out)
	}
	// Without the option it stays as it is: an operator may have switched it off.
	for _, r := range []run{second(t), deploy(t, deployed(t).withOnly(t), "--private-webhook").want(t, 0)} {
		if len(r.matching("run services update")) != 0 {
			t.Errorf("it called %q", r.lines())
		}
	}
}

// TestKey: the Gemini API key comes from a file or standard input, is on no command line, and is
// prompted for if it is missing.
func TestKey(t *testing.T) {
	t.Parallel()
	w := empty().withOnly(t)
	r := bash(t, w, "key-of-mine", "scripts/deploy", "--project", project, "--gemini-key-file", "-").want(t, 0)
	added := r.matching("secrets versions add opledger-gemini-api-key --data-file=-")
	if len(added) != 1 || added[0].Stdin != "key-of-mine" {
		t.Errorf("stored %+v", added)
	}
	if r := deploy(t, w).want(t, 1); !strings.Contains(r.stderr, "--gemini-key-file") ||
		len(r.matching("functions deploy")) != 0 {
		t.Errorf("%s", r.stderr)
	}
	signed := first(t)
	secret := signed.matching("secrets versions add opledger-effect-secret")
	if len(secret) != 1 || len(secret[0].Stdin) != len("whsec_")+44 || strings.Contains(signed.out+signed.stderr,
		secret[0].Stdin) {
		t.Errorf("stored %+v", secret)
	}
}

// TestValues: a value reaches gcloud's list unchanged, with any characters. TestEnvironment shows it in
// a whole deployment.
func TestValues(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "effects.yaml")
	for _, text := range []string{"- name: a\n  on: [A, B]\n  url: \"https://e/?a=b&c='d'\"", "a,b;c|d", "plain"} {
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		list := bash(t, nil, "", "-euc", `. scripts/common.sh; . scripts/settings.sh
			project=my-project sign_effects='' webhook_url='' webhook_uri=''
			name_everything; read_tables; set_option "$0"; environment effects`, "OPLEDGER_EFFECTS=@"+file).want(t, 0).out
		separator := ","
		if custom, ok := strings.CutPrefix(list, "^"); ok {
			separator, list, _ = strings.Cut(custom, "^")
		}
		if !slices.Contains(strings.Split(list, separator), "OPLEDGER_EFFECTS="+text) {
			t.Errorf("%q became %q", text, list)
		}
	}
}

// TestWrongUse: wrong use is reported in one line, with exit code 2, before any program is called.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--project is missing":     {"scripts/deploy"},
		"--nonsense needs a value": {"scripts/deploy", "--nonsense"},
		"--nonsense is not known":  {"scripts/doctor", "--nonsense", "x"},
		"--prefix must be":         {"scripts/deploy", "--project", "p", "--prefix", "No"},
		"OPLEDGER_GRCE: there is no such setting": {"scripts/deploy", "--project", "p", "--set",
			"OPLEDGER_GRCE=1s"},
		"OPLEDGER_TOPIC: the deployment sets it itself": {"scripts/deploy", "--project", "p", "--set",
			"OPLEDGER_TOPIC=t"},
		"GEMINI_API_KEY: it is not for deployed functions": {"scripts/deploy", "--project", "p", "--set",
			"GEMINI_API_KEY=hunter2"},
		"--results-bucket takes the name of a bucket, without a path, not gs://b/p": {"scripts/deploy", "--project", "p",
			"--results-bucket", "gs://b/p"},
		"--job-bucket takes the name of a bucket, without a path, not gs://b/p": {"scripts/deploy", "--project", "p",
			"--job-bucket", "gs://b/p"},
		"--notify takes an e-mail address, or a channel": {"scripts/deploy", "--project", "p", "--notify", "ops"},
		"OPLEDGER_INTERVAL: it must divide the hour": {"scripts/deploy", "--project", "p", "--set",
			"OPLEDGER_INTERVAL=7m"},
		"--webhook-ingress internal-and-gclb needs --webhook-url": {"scripts/deploy", "--project", "p", "--webhook-ingress",
			"internal-and-gclb"},
		"--effects-egress is private-ranges-only or all": {"scripts/deploy", "--project", "p", "--effects-egress", "ALL"},
		"--max-instances takes a function and a number": {"scripts/deploy", "--project", "p", "--max-instances",
			"effects=0"},
		"--set takes NAME=VALUE": {"scripts/deploy", "--project", "p", "--set",
			"OPLEDGER_GRACE"},
		"--set OPLEDGER_EFFECTS: the file cannot be read": {"scripts/deploy", "--project", "p", "--set",
			"OPLEDGER_EFFECTS=@/nowhere"},
		"--register-caller a@example.com: say what it is: user:a": {"scripts/deploy", "--project", "p", "--register-caller",
			"a@example.com"},
		"write serviceAccount:a@p.iam.gserviceaccount.com": {"scripts/deploy", "--project", "p", "--register-caller",
			"a@p.iam.gserviceaccount.com"},
		"--register-caller allUsers: Register must not be public": {"scripts/deploy", "--project", "p", "--register-caller",
			"allUsers"},
		"--options: the file /nowhere cannot be read":             {"scripts/deploy", "--options", "/nowhere"},
		"teardown: --project is missing: the id of your Google C": {"scripts/teardown", "--yes"},
	} {
		r := bash(t, nil, "", args...).want(t, 2)
		if !strings.Contains(r.stderr, want) || len(r.calls) != 0 || r.out != "" || strings.Contains(r.stderr, "hunter2") {
			t.Errorf("%q: stdout %q, stderr %q, calls %q", args, r.out, r.stderr, r.lines())
		}
	}
	for _, script := range []string{"deploy", "teardown", "doctor"} {
		if r := bash(t, nil, "", "scripts/"+script, "--help").want(t, 0); !strings.Contains(r.out,
			"scripts/"+script+" --project ID") {
			t.Errorf("the help of %s is %q", script, r.out)
		}
	}
}
