package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/canary"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
)

// report runs the canary with --json, and returns what it says about the batch.
func (d *deployment) report(code int, args ...string) (canary.Step, string) {
	d.Helper()
	run := d.canary(append([]string{"--spend", "--yes", "--json", "--within=3m"}, args...)...)
	var report canary.Report
	if err := json.Unmarshal([]byte(run.out), &report); err != nil || run.code != code || len(report.Steps) != 5 {
		d.Fatalf("%v, exit code %d: %s %s", err, run.code, run.out, run.err)
	}
	return report.Steps[4], run.out
}

// leavesNothingAtGemini checks that no batch and no ping is left anywhere.
func (d *deployment) leavesNothingAtGemini() {
	d.Helper()
	d.leavesNothing()
	for _, job := range d.gemini.Batches() {
		if !job.Deleted {
			d.Errorf("Gemini has %+v", job)
		}
	}
	if page, err := d.ledger.Quarantine.List(d.Context(), ledger.QuarantineFilter{Limit: 10}); err != nil ||
		len(page.Items) > 0 {
		d.Errorf("in quarantine: %+v, %v", page.Items, err)
	}
}

// TestCanarySpend: a real batch is timed from hop to hop, each delivery is answered with what became of
// it, and nothing is left, here or at Gemini.
func TestCanarySpend(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.registerWebhook()
	step, text := d.report(0)
	var hops []string
	for _, hop := range step.Hops {
		hops = append(hops, hop.From+" → "+hop.To)
	}
	if want := []string{
		"submitted → ended at Gemini", "ended at Gemini → event", "submitted → settled", "settled → effect note DONE",
	}; !slices.Equal(hops, want) {
		t.Errorf("hops %q, want %q", hops, want)
	}
	for _, secret := range []string{"whsec_", d.project, d.webhook.URL, "batches/"} {
		if strings.Contains(text, secret) {
			t.Errorf("the report has %s: %s", secret, text)
		}
	}
	d.leavesNothingAtGemini()
}

// TestCanarySpendWithoutWebhook: the batch is settled by reconciliation alone.
func TestCanarySpendWithoutWebhook(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	ctx, stop := context.WithCancel(t.Context())
	var passes sync.WaitGroup
	passes.Go(func() { // the schedule
		for every := time.NewTicker(500 * time.Millisecond); ; {
			select {
			case <-every.C:
				r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", http.NoBody)
				if _, err := d.schedule.Call(r, http.NoBody); err != nil {
					t.Error(err)
				}
			case <-ctx.Done():
				every.Stop()
				return
			}
		}
	})
	step, _ := d.report(0, "--no-webhook")
	stop()
	passes.Wait()
	if len(step.Hops) != 3 || step.Did[1] != "it was SUCCEEDED, settled by reconcile" {
		t.Errorf("%+v", step)
	}
	d.leavesNothingAtGemini()
}

// TestCanarySpendDynamic: the batch may name the webhook itself.
func TestCanarySpendDynamic(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.variables = append(d.variables, "OPLEDGER_WEBHOOK=dynamic")
	if step, _ := d.report(0); len(step.Hops) != 4 {
		t.Errorf("%+v", step)
	}
	d.leavesNothingAtGemini()
}

// TestCanarySpendNamesTheCut: a webhook that is disabled, or missing, is named before money is
// spent; Gemini's refusal, and a batch that fails or does not end, after it.
func TestCanarySpendNamesTheCut(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	step, _ := d.report(1)
	if step.Error != "Gemini has no webhook for this address: nothing is delivered" {
		t.Errorf("%+v", step)
	}
	if err := d.gemini.SetWebhookState(d.registerWebhook(), geminisim.WebhookDisabledDueToFailedDeliveries); err != nil {
		t.Fatal(err)
	}
	step, _ = d.report(1)
	if step.Error != "the webhook at Gemini is disabled due to failed deliveries: nothing is delivered" ||
		!strings.Contains(step.LookAt, "infra/playbooks/webhook-disabled.md") || len(d.gemini.Batches()) != 0 {
		t.Errorf("%+v", step)
	}
}
