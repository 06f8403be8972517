package gcloud

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// adopted are the resources of Terraform that need no import: what is there already stays as it is, or
// only Terraform makes it.
var adopted = regexp.MustCompile(`^(google_project_service|google_firestore_field|\w+_iam_member|terraform_data|` +
	`google_storage_bucket_object|google_monitoring_uptime_check_config|google_monitoring_dashboard)\.|` +
	`^google_storage_bucket\.source$|^google_monitoring_alert_policy\.webhook_unreachable$`)

// TestTakeover: there is a command to import each part of a deployment that Terraform would otherwise try
// to make again, with the names that Google chose; each address is one of Terraform's.
func TestTakeover(t *testing.T) {
	t.Parallel()
	w := deployed(t)
	i := slices.IndexFunc(w, func(r rule) bool { return r.Pattern == `^gcloud firestore indexes composite list` })
	named := w[i]
	var lines strings.Builder
	n := 0
	for line := range strings.Lines(named.Out) {
		n++
		fmt.Fprintf(&lines, "%s CI%d\n", strings.TrimSpace(line), n)
	}
	named.Pattern, named.Out = `^gcloud firestore indexes composite list .*name\.basename`, lines.String()
	storage := rule{Pattern: `^gcloud functions describe .*OPLEDGER_JOB_STORAGE`, Out: "gs://my-jobs\n"}
	r := bash(t, append(world{named, storage}, w...), "", "scripts/takeover", "--project", project).want(t, 0)
	got := map[string]string{}
	for line := range strings.Lines(r.out) {
		command := regexp.MustCompile(`^terraform -chdir=infra import '?([^ ']+)'? '?([^']+)'?\n$`).FindStringSubmatch(line)
		if command == nil {
			t.Fatalf("it printed %q", line)
		}
		got[command[1]] = command[2]
	}
	const (
		ledger = "projects/my-project/databases/opledger"
		europe = "projects/my-project/locations/europe-west1"

		effectsIndex = "/collectionGroups/effects/indexes/CI1"
	)
	for _, want := range [][2]string{
		{"module.ledger.google_firestore_database.ledger", ledger},
		{"module.ledger.google_firestore_backup_schedule.daily[0]", ledger + "/backupSchedules/d-1"},
		{`module.ledger.google_firestore_index.composite["effects.state.dueAt"]`, ledger + effectsIndex},
		{"google_service_account.push", "projects/my-project/serviceAccounts/" + account("push")},
		{"google_pubsub_subscription.dead", "projects/my-project/subscriptions/opledger-effects-dead"},
		{"google_cloudfunctions2_function.webhook", europe + "/functions/opledger-webhook"},
		{"google_storage_bucket.jobs[0]", "my-jobs"},
		{`google_logging_metric.this["passes"]`, "my-project opledger-passes"},
		{`google_monitoring_alert_policy.signal["passes"]`, "projects/my-project/alertPolicies/1"},
		{`google_monitoring_notification_channel.email["ops@example.com"]`, "projects/my-project/notificationChannels/1"},
	} {
		if got[want[0]] != want[1] {
			t.Errorf("%s is imported from %q, want %q", want[0], got[want[0]], want[1])
		}
	}
	if n := strings.Count(r.out, "google_firestore_index"); n != len(table(t, "index")) {
		t.Errorf("%d indexes are imported, want %d", n, len(table(t, "index")))
	}
	if n := strings.Count(r.out, "google_monitoring_alert_policy"); n != len(table(t, "policy")) {
		t.Errorf("%d alerts are imported, want %d", n, len(table(t, "policy")))
	}
	imported := map[string]bool{}
	for address := range got {
		imported[regexp.MustCompile(`^(module\.ledger\.)?(\w+\.\w+).*`).ReplaceAllString(address, "$2")] = true
	}
	for _, address := range resources(t) {
		if imported[address] == adopted.MatchString(address) {
			t.Errorf("%s: imported %v, and said to need none %v", address, imported[address], adopted.MatchString(address))
		}
		delete(imported, address)
	}
	if len(imported) != 0 {
		t.Errorf("Terraform has no %v", imported)
	}
}

// resources are the addresses of all of Terraform's resources, without their modules.
func resources(t *testing.T) (addresses []string) {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"infra", "infra/ledger"} {
		files, err := filepath.Glob(filepath.Join(dir, folder, "*.tf"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no Terraform files in %s: %v", folder, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range regexp.MustCompile(`(?m)^resource "(\w+)" "(\w+)"`).FindAllStringSubmatch(string(text), -1) {
				addresses = append(addresses, found[1]+"."+found[2])
			}
		}
	}
	return addresses
}
