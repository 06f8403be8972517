package gcloud

import (
	"fmt"
	"strings"
	"testing"
)

const project = "my-project"

func account(name string) string { return "opledger-" + name + "@my-project.iam.gserviceaccount.com" }
func member(name string) string  { return "serviceAccount:" + account(name) }

// answers are what is asked for during a deployment, whatever is there.
func answers() world {
	return world{
		{Pattern: `^gcloud projects describe .*projectNumber`, Out: "123\n"},
		{Pattern: `^gcloud functions describe opledger-([a-z]+) .*serviceConfig.uri`, Out: "https://example-uc.a.run.app\n"},
		{Pattern: `^gcloud auth print-access-token`, Out: "token-of-mine\n"},
	}
}

// empty is a project in which nothing is deployed.
func empty() world { return append(answers(), rule{Pattern: ` describe `, Code: 1}) }

// deployed is a project in which everything is, as doctor wants to see it.
func deployed(t *testing.T) world {
	t.Helper()
	const pubsubAgent = "serviceAccount:service-123@gcp-sa-pubsub.iam.gserviceaccount.com"
	var composite, fields, apis strings.Builder
	for _, index := range table(t, "index") {
		var names, orders []string
		for column := range strings.SplitSeq(index[1], ",") {
			name, order, _ := strings.Cut(column, ":")
			names, orders = append(names, name), append(orders, strings.ToUpper(order))
		}
		if len(names) == 1 {
			fmt.Fprintf(&fields, "%s %s COLLECTION,COLLECTION,COLLECTION_GROUP \n", index[0], names[0])
			continue
		}
		fmt.Fprintf(&composite, "%s COLLECTION_GROUP %s,__name__ %s,%s READY\n",
			index[0], strings.Join(names, ","), strings.Join(orders, ","), orders[len(orders)-1])
	}
	for _, field := range table(t, "unindexed") {
		fmt.Fprintf(&fields, "%s %s  \n", field[0], field[1])
	}
	for _, field := range table(t, "expiry") {
		fmt.Fprintf(&fields, "%s %s  ACTIVE\n", field[0], field[1])
	}
	for _, api := range strings.Fields("artifactregistry cloudbuild cloudfunctions cloudresourcemanager cloudscheduler firestore iam " +
		"logging monitoring pubsub run secretmanager storage") {
		fmt.Fprintf(&apis, "%s.googleapis.com\n", api)
	}
	bindings := func(pairs ...string) string {
		var lines strings.Builder
		for i := 0; i < len(pairs); i += 2 {
			fmt.Fprintf(&lines, "%s %s\n", pairs[i], pairs[i+1])
		}
		return lines.String()
	}
	w := append(answers(), world{
		{Pattern: `^gcloud auth list`, Out: "me@example.com\n"},
		{Pattern: `^gcloud services list`, Out: apis.String()},
		{Pattern: `^gcloud firestore databases describe .*concurrencyMode`, Out: "FIRESTORE_NATIVE OPTIMISTIC\n"},
		{Pattern: `^gcloud firestore indexes composite list`, Out: composite.String()},
		{Pattern: `^gcloud firestore indexes fields list`, Out: fields.String()},
		{Pattern: `^gcloud secrets versions list`, Out: "1\n"},
		{Pattern: `^gcloud secrets describe`, Out: "projects/123/secrets/one\n"},
		{Pattern: `^gcloud projects get-iam-policy`, Out: bindings(
			member("webhook"), "roles/datastore.user", member("register"), "roles/datastore.user",
			member("reconcile"), "roles/datastore.user", member("effects"), "roles/datastore.user")},
		{Pattern: `^gcloud pubsub topics get-iam-policy opledger-effects-dead`, Out: bindings(pubsubAgent, "roles/pubsub.publisher")},
		{Pattern: `^gcloud pubsub topics get-iam-policy opledger-effects `, Out: bindings(
			member("webhook"), "roles/pubsub.publisher", member("register"), "roles/pubsub.publisher",
			member("reconcile"), "roles/pubsub.publisher", member("effects"), "roles/pubsub.publisher")},
		{Pattern: `^gcloud pubsub subscriptions get-iam-policy`, Out: bindings(pubsubAgent, "roles/pubsub.subscriber")},
		{Pattern: `^gcloud secrets get-iam-policy opledger-gemini`, Out: bindings(
			member("webhook"), "roles/secretmanager.secretAccessor", member("reconcile"), "roles/secretmanager.secretAccessor",
			member("effects"), "roles/secretmanager.secretAccessor")},
		{Pattern: `^gcloud secrets get-iam-policy opledger-webhook`, Out: bindings(
			member("webhook"), "roles/secretmanager.secretAccessor", member("webhook"), "roles/secretmanager.viewer")},
		{Pattern: `^gcloud run services get-iam-policy opledger-webhook`, Out: bindings("allUsers", "roles/run.invoker")},
		{Pattern: `^gcloud run services get-iam-policy opledger-effects`, Out: bindings(member("push"), "roles/run.invoker")},
		{Pattern: `^gcloud run services get-iam-policy opledger-reconcile`, Out: bindings(member("scheduler"), "roles/run.invoker")},
		{Pattern: `^gcloud pubsub subscriptions describe opledger-effects-dead`, Out: "projects/my-project/topics/opledger-effects-dead\n"},
		{Pattern: `^gcloud pubsub subscriptions describe opledger-effects `, Out: "https://example-uc.a.run.app/projects/my-project/topics/opledger-effects " +
			account("push") + " projects/my-project/topics/opledger-effects-dead\n"},
		{Pattern: `^gcloud scheduler jobs describe`, Out: "ENABLED " + account("scheduler") + " 2026-11-21T12:00:00Z \n"},
		{Pattern: `^go run \./scripts/opledger webhook check`, Out: "enabled\n"},
	}...)
	for _, function := range []string{"webhook", "register", "reconcile", "effects"} {
		w = append(w, rule{Pattern: `^gcloud functions describe opledger-` + function, Out: described(t, function)})
	}
	return w
}

// described is how gcloud prints a function's state and environment.
func described(t *testing.T, function string) string {
	t.Helper()
	text := "state=ACTIVE\n"
	for _, setting := range table(t, "setting") {
		value := map[string]string{
			"GOOGLE_CLOUD_PROJECT": project, "OPLEDGER_STORE": "firestore:opledger", "OPLEDGER_TOPIC": "opledger-effects",
			"OPLEDGER_WEBHOOK_SECRET":        "projects/my-project/secrets/opledger-webhook-secret",
			"OPLEDGER_GEMINI_API_KEY_SECRET": "projects/my-project/secrets/opledger-gemini-api-key",
			"OPLEDGER_WEBHOOK_URL":           "https://example-uc.a.run.app",
			"OPLEDGER_GRACE":                 "2m",
		}[setting[0]]
		if value != "" && strings.Contains(","+setting[2]+",", ","+function+",") {
			text += "serviceConfig.environmentVariables." + setting[0] + "=" + value + "\n"
		}
	}
	return text
}
