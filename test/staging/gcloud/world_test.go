package gcloud

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const project = "my-project"

// address is a function's URL.
func address(function string) string { return "https://" + function + "-uc.a.run.app" }

func account(name string) string { return "opledger-" + name + "@my-project.iam.gserviceaccount.com" }
func member(name string) string  { return "serviceAccount:" + account(name) }

// answers are the answers of every project to the requests of a deployment.
func answers() world {
	w := world{
		{Pattern: `^gcloud functions describe .*=value\(serviceConfig\.environmentVariables\.`},
		{Pattern: `^gcloud projects describe .*projectNumber`, Out: "123\n"},
		{Pattern: `^gcloud auth print-access-token`, Out: "token-of-mine\n"},
		{Pattern: `^curl .*--request POST .*/notificationChannels`,
			Out: "{\n  \"name\": \"projects/my-project/notificationChannels/1\"\n}\n"},
	}
	for _, function := range []string{"webhook", "register", "reconcile", "effects"} {
		pattern := `^gcloud functions describe opledger-` + function + ` .*=value\(serviceConfig\.uri\)`
		w = append(w, rule{Pattern: pattern, Out: address(function) + "\n"})
	}
	return w
}

// empty is a project in which nothing is deployed.
func empty() world { return append(answers(), rule{Pattern: ` describe `, Code: 1}) }

// deployed is a project in which everything is, as doctor expects it.
func deployed(t *testing.T) world {
	t.Helper()
	var composite, fields, apis, accounts strings.Builder
	for _, index := range table(t, "index") {
		var names, orders []string
		for column := range strings.SplitSeq(index[1], ",") {
			name, order, _ := strings.Cut(column, ":")
			names, orders = append(names, name), append(orders, strings.ToUpper(order))
		}
		fmt.Fprintf(&composite, "%s COLLECTION_GROUP %s,__name__ %s,%s READY\n",
			index[0], strings.Join(names, ","), strings.Join(orders, ","), orders[len(orders)-1])
	}
	for _, field := range table(t, "field") {
		var scopes, orders, states []string
		for index := range strings.SplitSeq(field[2], ",") {
			scope, order, _ := strings.Cut(index, ":")
			scopes, orders, states = append(scopes, scope), append(orders, order), append(states, "READY")
		}
		slices.Reverse(orders) // Google promises no order
		fmt.Fprintf(&fields, "%s %s %s %s %s \n", field[0], field[1], strings.Join(scopes, ","), strings.Join(orders, ","),
			strings.Join(states, ","))
	}
	for _, field := range table(t, "unindexed") {
		fmt.Fprintf(&fields, "%s %s    \n", field[0], field[1])
	}
	for _, field := range table(t, "expiry") {
		fmt.Fprintf(&fields, "%s %s    ACTIVE\n", field[0], field[1])
	}
	for _, api := range strings.Fields("artifactregistry cloudbuild cloudfunctions cloudresourcemanager cloudscheduler " +
		"firestore iam " +
		"logging monitoring pubsub run secretmanager storage") {
		fmt.Fprintf(&apis, "%s.googleapis.com\n", api)
	}
	for _, name := range []string{"webhook", "register", "reconcile", "effects", "push", "scheduler", "build"} {
		fmt.Fprintln(&accounts, account(name))
	}
	w := append(answers(), world{
		{Pattern: `^gcloud auth list`, Out: "me@example.com\n"},
		{Pattern: `^gcloud services list`, Out: apis.String()},
		{Pattern: `^gcloud firestore databases describe .*concurrencyMode`, Out: "FIRESTORE_NATIVE OPTIMISTIC\n"},
		{Pattern: `^gcloud firestore backups schedules list`, Out: "w-1 SUNDAY 8467200s\nd-1 daily 604800s\n"},
		{Pattern: `^gcloud firestore indexes composite list`, Out: composite.String()},
		{Pattern: `^gcloud firestore indexes fields list`, Out: fields.String()},
		{Pattern: bucketAccess, Out: "True enforced\n"},
		{Pattern: bucketLifecycle, Out: "SetStorageClass age=30\n" + lifecycle(t)},
		{Pattern: `^gcloud secrets versions list`, Out: "1\n"},
		{Pattern: `^gcloud secrets list`, Out: "opledger-webhook-secret\nopledger-gemini-api-key\nopledger-effect-secret\n"},
		{Pattern: `^gcloud secrets describe`, Out: "projects/123/secrets/one\n"},
		{Pattern: `^gcloud iam service-accounts list`, Out: accounts.String()},
		{Pattern: `^gcloud pubsub subscriptions describe opledger-effects-dead `,
			Out: "projects/my-project/topics/opledger-effects-dead\n"},
		{Pattern: `^gcloud pubsub subscriptions describe opledger-effects .*pushEndpoint`,
			Out: address("effects") + "/projects/my-project/topics/opledger-effects " +
				account("push") + " " + address("effects") + "\n"},
		{Pattern: `^gcloud pubsub subscriptions describe opledger-effects .*ackDeadline`, Out: "600 604800s 10s 600s \n"},
		{Pattern: `^gcloud pubsub subscriptions describe opledger-effects .*deadLetter`,
			Out: "projects/my-project/topics/opledger-effects-dead 100\n"},
		{Pattern: `^gcloud scheduler jobs describe .*httpTarget`,
			Out: "POST " + address("reconcile") + "/ " + account("scheduler") + " " + address("reconcile") + "\n"},
		{Pattern: `^gcloud scheduler jobs describe .*lastAttemptTime`, Out: "ENABLED 2026-11-21T12:00:00Z \n"},
		{Pattern: `^gcloud scheduler jobs describe .*value\(schedule\)`, Out: "*/5 * * * *\n"},
		{Pattern: `^gcloud logging read .*cloud_scheduler_job.*job_id="opledger-reconcile" AND severity="ERROR"`,
			Out: "PERMISSION_DENIED: number = 403\n"},
		{Pattern: `^go run \./scripts/opledger webhook check`, Out: "ok     it is enabled\n"},
		{Pattern: vcpuQuota, Out: quotas},
		{Pattern: webhookAnswers, Out: "405"},
	}...)
	w = append(w, policies(t)...)
	w = append(w, watched(t)...)
	for _, function := range []string{"webhook", "register", "reconcile", "effects"} {
		w = append(w, rule{Pattern: `^gcloud functions describe opledger-` + function, Out: described(t, function)})
	}
	return w
}

// webhookAnswers is the GET without a token that a webhook which Gemini can reach answers with 405.
const webhookAnswers = `^curl .*--write-out %\{http_code\} https://webhook-uc\.a\.run\.app$`

// vcpuQuota is the request for how many vCPU the project may use, in each region; quotas the answer of a
// new project, which has more in some regions.
const (
	vcpuQuota = `^curl .*/services/run\.googleapis\.com/quotaInfos/CpuAllocPerProjectRegion\?`
	quotas    = `{
  "dimensionsInfos": [
    {
      "details": {"value": "200000"},
      "applicableLocations": [
        "us-central1"
      ]
    },
    {
      "details": {
        "value": "20000"
      },
      "applicableLocations": [
        "europe-west10",
        "europe-west1"
      ]
    }
  ]
}
`
)

// What doctor asks about the bucket of jobs.
const (
	bucketAccess    = `^gcloud storage buckets describe gs://my-jobs .*uniform_bucket_level_access`
	bucketLifecycle = `^gcloud storage buckets describe gs://my-jobs .*--flatten=lifecycle_config`
)

// lifecycle is how gcloud prints the rules of infra/lifecycle.json, which deploy gives to the bucket of jobs.
func lifecycle(t *testing.T) string {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "infra", "lifecycle.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Rule []struct {
			Action    struct{ Type string }
			Condition struct {
				Age           int
				MatchesPrefix []string
			}
		}
	}
	if err := json.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, r := range rules.Rule {
		fmt.Fprintf(&lines, "%s age=%d;matchesPrefix=['%s']\n", r.Action.Type, r.Condition.Age,
			strings.Join(r.Condition.MatchesPrefix, "', '"))
	}
	return lines.String()
}

// concurrency is how many requests an instance gets at once.
const concurrency = "20"

// described is how gcloud prints the state and the environment of a function.
func described(t *testing.T, function string) string {
	t.Helper()
	ingress := map[string]string{"webhook": "ALLOW_ALL", "register": "ALLOW_ALL"}[function]
	text := "state=ACTIVE\nuri=" + address(function) + "\naccount=" + account(function) + "\ningress=" + cmp.Or(ingress,
		"ALLOW_INTERNAL_ONLY") + "\nconcurrency=" + concurrency + "\ninstances=" +
		map[string]string{"webhook": "8", "effects": "7", "register": "3", "reconcile": "2"}[function] + "\n"
	for _, setting := range table(t, "setting") {
		value := map[string]string{
			"GOOGLE_CLOUD_PROJECT": project, "OPLEDGER_STORE": "firestore:opledger", "OPLEDGER_TOPIC": "opledger-effects",
			"OPLEDGER_WEBHOOK_SECRET":        "projects/my-project/secrets/opledger-webhook-secret",
			"OPLEDGER_GEMINI_API_KEY_SECRET": "projects/my-project/secrets/opledger-gemini-api-key",
			"OPLEDGER_EFFECT_SECRET":         "projects/my-project/secrets/opledger-effect-secret",
			"OPLEDGER_JOB_STORAGE":           "gs://my-jobs",
			"OPLEDGER_EFFECTS_SLOTS":         concurrency,
			"OPLEDGER_EFFECTS_TIMEOUT":       "540s",
			"GOMEMLIMIT":                     "358MiB",
			"OPLEDGER_WEBHOOK_URL":           address("webhook"),
			"OPLEDGER_GRACE":                 "2m",
		}[setting[0]]
		if value != "" && strings.Contains(","+setting[2]+",", ","+function+",") {
			text += "serviceConfig.environmentVariables." + setting[0] + "=" + value + "\n"
		}
	}
	return text
}
