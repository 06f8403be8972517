package reconcile_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestEndpointAlertsOfEachWebhook: one webhook of the address that stays disabled is alerted once per
// period, whatever becomes of another of the same address; that one is alerted when it is disabled, and
// each time that it is so again [R4].
func TestEndpointAlertsOfEachWebhook(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, setting{alerts: true})
	at, _ := w.endpoint(webhooks.Disabled)
	_, other := w.endpoint(webhooks.Enabled)
	const up, down = webhooks.Enabled, webhooks.DisabledByFailures
	for i, step := range []struct {
		state string // of the other
		want  []string
	}{
		{up, []string{"page@disabled-1"}},
		{up, nil}, {up, nil}, {up, nil},
		{down, []string{"page@disabled-1"}},
		{down, nil}, {up, nil}, {up, nil},
		{down, []string{"page@disabled-2"}},
		{down, nil},
	} {
		if err := w.sim.SetWebhookState(other, step.state); err != nil {
			t.Fatal(err)
		}
		w.passWith(reconcile.Options{Endpoint: at})
		if got := w.pages(); !cmp.Equal(got, step.want) {
			t.Errorf("R4: pass %d planned %v, want %v", i+1, got, step.want)
		}
		w.clock.Advance(interval)
	}
}

// TestEndpointAlertsAfterAPassThatCouldNotCheck: such a pass does not hide that the webhook was enabled
// between the last alert and the next [R4].
func TestEndpointAlertsAfterAPassThatCouldNotCheck(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, setting{alerts: true})
	at, id := w.endpoint(webhooks.Enabled)
	var effects []string
	for _, state := range []string{webhooks.Disabled, webhooks.Enabled, "", webhooks.Disabled, "", webhooks.Disabled} {
		if state == "" {
			w.sim.AnswerNext(geminisim.OpWebhook, "", geminisim.ErrorAnswer(http.StatusServiceUnavailable, "later"))
		} else if err := w.sim.SetWebhookState(id, state); err != nil {
			t.Fatal(err)
		}
		w.passWith(reconcile.Options{Endpoint: at})
		effects = append(effects, w.pages()...)
		w.clock.Advance(interval)
	}
	if want := []string{"page@disabled-1", "page@disabled-2"}; !cmp.Equal(effects, want) {
		t.Errorf("R4: alerts: %v, want %v", effects, want)
	}
}

// TestEndpointAlertsOncePerPeriodAfterALeap: where the clock stood in the future while the webhook was
// seen enabled, and was set back, it is alerted once per period all the same [R4].
func TestEndpointAlertsOncePerPeriodAfterALeap(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, setting{alerts: true})
	at, id := w.endpoint(webhooks.Enabled)
	w.clock.Advance(48 * time.Hour)
	w.passWith(reconcile.Options{Endpoint: at})
	w.clock.Advance(-48 * time.Hour)
	if err := w.sim.SetWebhookState(id, webhooks.Disabled); err != nil {
		t.Fatal(err)
	}
	var effects []string
	for range 3 {
		w.passWith(reconcile.Options{Endpoint: at})
		effects = append(effects, w.pages()...)
		w.clock.Advance(interval)
	}
	if want := []string{"page@disabled-1"}; !cmp.Equal(effects, want) {
		t.Errorf("R4: alerts: %v, want %v", effects, want)
	}
}
