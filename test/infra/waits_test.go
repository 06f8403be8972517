package infra_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dependsOn finds what a resource explicitly depends on.
var dependsOn = regexp.MustCompile(`(?s)\n  depends_on = \[(.*?)\]`)

// TestWaits: no function is built before the grants of its build are effective, and
// no alert is made before its metric is known; each wait begins after everything that it waits for
// is made.
func TestWaits(t *testing.T) {
	t.Parallel()
	waits := map[string]string{
		"google_cloudfunctions2_function.webhook":                "terraform_data.grants_known",
		"google_cloudfunctions2_function.register":               "terraform_data.grants_known",
		"google_cloudfunctions2_function.reconcile":              "terraform_data.grants_known",
		"google_cloudfunctions2_function.effects":                "terraform_data.grants_known",
		"google_service_account_iam_member.pubsub_signs_as_push": "terraform_data.grants_known",
		"google_pubsub_topic_iam_member.pubsub_publishes_dead":   "terraform_data.grants_known",
		"google_monitoring_alert_policy.signal":                  "terraform_data.metrics_known",
	}
	text := terraform(t)
	for _, block := range resource.FindAllStringSubmatch(text, -1) {
		address := block[1] + "." + block[2]
		wait, ok := waits[address]
		if !ok {
			onLog := block[1] == "google_monitoring_alert_policy" && strings.Contains(block[3], "each.value.metric")
			if block[1] == "google_cloudfunctions2_function" || onLog {
				t.Errorf("%s waits for nothing", address)
			}
			continue
		}
		delete(waits, address)
		if !slices.Contains(dependencies(block[3]), wait) {
			t.Errorf("%s does not depend on %s", address, wait)
		}
	}
	for address := range waits {
		t.Errorf("there is no %s", address)
	}
	for _, grant := range regexp.MustCompile(`resource "(google_\w+_iam_member)" "(build_\w+)"`).FindAllStringSubmatch(
		text, -1) {
		if !strings.Contains(one(t, text,
			`(?s)resource "terraform_data" "grants_known".*?triggers_replace = \[(.*?)\n  \]`)[1], grant[1]+"."+grant[2]+".id") {
			t.Errorf("%s.%s is not waited for", grant[1], grant[2])
		}
	}
}

// dependencies are what a resource explicitly depends on.
func dependencies(block string) []string {
	found := dependsOn.FindStringSubmatch(block)
	if found == nil {
		return nil
	}
	list := regexp.MustCompile(`#.*`).ReplaceAllString(found[1], "")
	return regexp.MustCompile(`[\w.]+`).FindAllString(list, -1)
}

// TestEffectsIsDeployedFirst: Effects knows a new effect before any function plans it, with
// Terraform and without. In the other order it would receive messages without a handler, and an
// alert would fire.
func TestEffectsIsDeployedFirst(t *testing.T) {
	t.Parallel()
	const effects = "google_cloudfunctions2_function.effects"
	for _, block := range resource.FindAllStringSubmatch(terraform(t), -1) {
		if address := block[1] + "." + block[2]; block[1] == "google_cloudfunctions2_function" && address != effects &&
			!slices.Contains(dependencies(block[3]), effects) {
			t.Errorf("%s does not depend on %s", address, effects)
		}
	}
	var order []string
	for _, deploy := range regexp.MustCompile(`(?m)^deploy (\w+) `).FindAllStringSubmatch(script(t, "deploy"), -1) {
		order = append(order, deploy[1])
	}
	if len(order) != len(functions) || order[0] != "effects" {
		t.Errorf("the script deploys %q, want effects first", order)
	}
}
