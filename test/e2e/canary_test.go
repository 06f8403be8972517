package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/opledger/opledger/test/harness"
)

// TestCanary: every link of a deployment that works is proved, nothing is left in the ledger, and
// no line is of an event that a signal counts but those of the pass.
func TestCanary(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.canary().says(t, 0,
		"ok        register, ", "opledger-register recorded an intent, and withdrew it",
		"ok        delivery, ", "the signed delivery was answered 200 applied", "kept it apart as unregistered; removed",
		"ok        push, ", "a message about the effect note was published", "opledger-effects skipped it",
		"ok        schedule, ", "the scheduler job opledger-reconcile was run", "the pass found nothing due")
	d.leavesNothing()
	var events []string
	for _, line := range d.log.Drain(t) {
		events = append(events, line["event"].(string))
	}
	slices.Sort(events)
	if want := []string{"canary", "canary", "intent", "intent", "reconcile"}; !slices.Equal(events, want) {
		t.Errorf("the functions printed lines of %q, want %q", events, want)
	}

	var report struct {
		OK    bool
		Steps []struct {
			Step   string
			Counts map[string]any
		}
	}
	run := d.canary("--json")
	if err := json.Unmarshal([]byte(run.out), &report); err != nil || run.code != 0 || !report.OK ||
		len(report.Steps) != 4 || report.Steps[3].Counts["checked"] != 0.0 || strings.Contains(run.out, "whsec") {
		t.Errorf("%v: %d %s %s", err, run.code, run.out, run.err)
	}
	run = d.canary("--log")
	var line map[string]any
	if err := json.Unmarshal([]byte(run.err), &line); err != nil || run.code != 0 || run.out != "" ||
		line["event"] != "canary" || line["outcome"] != "passed" || line["severity"] != "INFO" {
		t.Errorf("%v: %d %s %s", err, run.code, run.out, run.err)
	}
}

// TestCanaryNamesTheCut: with each link cut once, the step that it belongs to fails and says which
// link it is; the others succeed. A short run cuts one link of each step.
func TestCanaryNamesTheCut(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, c := range []struct {
		about string
		cut   func(*deployment)
		step  string
		says  []string
	}{
		{"the account may not register", func(d *deployment) { d.uninvoke("opledger-register") },
			"register", []string{"the account of OPLEDGER_TOKEN may not invoke opledger-register (403)", "--register-caller"}},
		{"the token is for another address", func(d *deployment) { d.submitsTo("https://old.example") },
			"register", []string{"opledger-register was called with a token that is not for it, or has expired (401)"}},
		{"no secret version", func(d *deployment) {
			d.secrets.SetDisabled(d.secrets.Versions(d.secretName())[0].Name)
		}, "delivery", []string{"there is no secret to sign with: secret projects/", "has no enabled version",
			"look at: opledger webhook check"}},
		{"another secret", func(d *deployment) {
			d.variables = append(d.variables, "OPLEDGER_WEBHOOK_SECRET=whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=")
		}, "delivery", []string{"opledger-webhook refused the signature with the newest version of the secret"}},
		{"the webhook is not public", func(d *deployment) { d.uninvoke("opledger-webhook") },
			"delivery", []string{"opledger-webhook is not public", "allUsers needs roles/run.invoker"}},
		{"nothing has the address", func(d *deployment) {
			d.variables = append(d.variables, "OPLEDGER_WEBHOOK_URL=https://127.0.0.1:1")
		}, "delivery", []string{"the delivery reached nothing"}},
		{"another ledger", func(d *deployment) {
			d.variables = append(d.variables, "OPLEDGER_STORE=firestore:other")
		}, "register, delivery", []string{"opledger-register recorded an intent, which is not in this ledger",
			"was answered 200 applied, and is not in this ledger"}},
		{"no invoker of Effects", func(d *deployment) { d.uninvoke("opledger-effects") },
			"push", []string{pushAccount + " may not invoke opledger-effects (403)", "--role=roles/run.invoker"}},
		{"the subscription's audience", func(d *deployment) {
			d.repush(pushTo(d.push.Load().Endpoint, "https://old.example"))
		}, "push", []string{"opledger-effects has the wrong audience: its token is for \"https://old.example\""}},
		{"the address of Effects", func(d *deployment) {
			push := *d.push.Load()
			push.Audience = "https://old.example"
			d.push.Store(&push)
		}, "push", []string{"opledger-effects was called with a token that is not for it (401)"}},
		{"the subscription is paused", func(d *deployment) { d.repush(&pubsubpb.PushConfig{}) },
			"push", []string{"the subscription opledger-effects is paused: it has no push endpoint"}},
		{"the scheduler is paused", func(d *deployment) { d.setJob(true) },
			"schedule", []string{"the scheduler job opledger-reconcile is paused", "gcloud scheduler jobs resume"}},
		{"no invoker of Reconcile", func(d *deployment) { d.uninvoke("opledger-reconcile") },
			"schedule", []string{scheduleAgent + " may not invoke opledger-reconcile (403)"}},
		{"the scheduler may not sign", func(d *deployment) { d.schedule.MaySign = false },
			"schedule", []string{"the scheduler's call of opledger-reconcile failed: Internal"}},
	} {
		if tried[c.step] && !harness.Thorough(t) {
			continue
		}
		tried[c.step] = true
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(t)
			c.cut(d)
			run := d.canary()
			steps := strings.Split(c.step, ", ")
			for _, step := range steps {
				c.says = append(c.says, "failed    "+step+", ")
			}
			run.says(t, 1, c.says...)
			if n := strings.Count(run.out, "failed  "); n != len(steps) {
				t.Errorf("%d steps failed", n)
			}
			if !strings.Contains(run.err, "the deployment does not work: "+c.step+" failed") {
				t.Errorf("stderr says %s", run.err)
			}
			if c.about != "another ledger" { // it cannot be removed from there
				d.leavesNothing()
			}
		})
	}
}
