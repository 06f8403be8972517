package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/reconcile"
)

const endpointURL = "https://webhook-abc-uc.a.run.app/"

// endpoint returns the webhook's client, and creates the webhook in a state, unless that is empty.
func (w *world) endpoint(state string) (*reconcile.Endpoint, string) {
	w.Helper()
	client, err := webhooks.NewClient(webhooks.Options{APIKey: "key", BaseURL: w.server.URL,
		HTTP: w.server.Client()})
	if err != nil {
		w.Fatal(err)
	}
	at := &reconcile.Endpoint{Webhooks: client, URL: endpointURL}
	if state == "" {
		return at, ""
	}
	made, err := client.Create(w.Context(), "opledger", endpointURL)
	if err != nil {
		w.Fatal(err)
	}
	if err := w.sim.SetWebhookState(made.ID, state); err != nil {
		w.Fatal(err)
	}
	return at, made.ID
}

// TestEndpoint: a webhook that does not deliver is an alert: an effect once per period, or a log
// line. It is enabled again only where the settings say so and Gemini disabled it, not an operator
// [R4].
func TestEndpoint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state    string
		reenable bool
		alert    bool
		after    string
	}{
		"R4: enabled":                        {webhooks.Enabled, true, false, webhooks.Enabled},
		"R4: by failures":                    {webhooks.DisabledByFailures, false, true, webhooks.DisabledByFailures},
		"R4: by failures, to be enabled":     {webhooks.DisabledByFailures, true, true, webhooks.Enabled},
		"R4: by an operator":                 {webhooks.Disabled, true, true, webhooks.Disabled},
		"R4: for a reason that is new":       {"disabled_for_abuse", true, true, "disabled_for_abuse"},
		"R4: gone":                           {"", true, true, ""},
		"R4: gone, and not to be fixed":      {"", false, true, ""},
		"R4: enabled, and not to be changed": {webhooks.Enabled, false, false, webhooks.Enabled},
	} {
		for _, effects := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorldWith(t, setting{alerts: effects})
				at, id := w.endpoint(c.state)
				at.Reenable = c.reenable
				subject := "webhooks/" + id
				if id == "" {
					subject = "webhooks/missing"
				}
				if got := w.passWith(reconcile.Options{Endpoint: at}); got != (reconcile.Summary{}) {
					t.Errorf("%+v", got)
				}
				logged, sent := w.alerted(), w.outbox.Drain()
				switch {
				case !c.alert && (logged != nil || sent != nil):
					t.Errorf("R4: alerted by %v, %v", logged, sent)
				case c.alert && effects && (!cmp.Equal(logged, []string{subject + " disabled"}) || len(sent) != 1 ||
					string(sent[0].Operation) != subject || !strings.HasPrefix(sent[0].Effect, "page@disabled-")):
					t.Errorf("R4: alerted by %v, %v, want an effect of %s", logged, sent, subject)
				case c.alert && !effects && (!cmp.Equal(logged, []string{subject + " disabled"}) || sent != nil):
					t.Errorf("R4: alerted by %v, %v, want it in the log", logged, sent)
				}
				if id == "" {
					return
				}
				if hook, err := at.Webhooks.Get(t.Context(), id); err != nil || hook.State != c.after {
					t.Errorf("R4: the webhook is %s, want %s; %v", hook.State, c.after, err)
				}
			})
		}
	}
}

// TestEndpointIsAwaited: the absence of a webhook that was never created is only logged; once it
// was, it is an alert. Where that cannot be known, it counts as an error [R4].
func TestEndpointIsAwaited(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		created bool
		err     error
		alerts  []string
		says    string
		want    reconcile.Summary
	}{
		{false, nil, nil, "webhook-awaited", reconcile.Summary{}},
		{true, nil, []string{"webhooks/missing disabled"}, "", reconcile.Summary{}},
		{false, errors.New("denied"), nil, "error", reconcile.Summary{Errors: 1}},
	} {
		w := newWorld(t)
		at, _ := w.endpoint("")
		at.Created = func(context.Context) (bool, error) { return c.created, c.err }
		if got := w.passWith(reconcile.Options{Endpoint: at}); got != c.want {
			t.Errorf("R4: created %v, %v: %+v", c.created, c.err, got)
		}
		lines := w.log.Drain(t)
		says, alerts := "", []string(nil)
		for _, line := range lines {
			if line["event"] == "alert" {
				alerts = append(alerts, fmt.Sprint(line["operation"], " ", line["reason"]))
			} else if outcome, ok := line["outcome"].(string); ok && outcome != "pass" {
				says = outcome
			}
		}
		if !cmp.Equal(alerts, c.alerts) || says != c.says {
			t.Errorf("R4: created %v, %v: alerts %v, says %q, want %v, %q", c.created, c.err, alerts, says, c.alerts, c.says)
		}
	}
}

// TestUnannounced: that a pass found an end before the delivery of an enabled webhook is logged. An
// end without an event, or without a webhook, is not [R4].
func TestUnannounced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		webhook string
		end     geminisim.State
		want    bool
	}{
		{webhooks.Enabled, geminisim.StateSucceeded, true},
		{webhooks.Enabled, geminisim.StateCancelled, false},
		{webhooks.Disabled, geminisim.StateSucceeded, false},
		{"", geminisim.StateSucceeded, false},
	} {
		w := newWorld(t)
		w.move(w.register("a", geminisim.StateRunning), c.end)
		w.clock.Advance(grace)
		at, _ := w.endpoint(c.webhook)
		w.passWith(reconcile.Options{Endpoint: at})
		got := false
		for _, line := range w.log.Drain(t) {
			got = got || line["event"] == "reconcile" && line["outcome"] == "unannounced" && line["found"] == 1.0
		}
		if got != c.want {
			t.Errorf("R4: a %q webhook and a batch in %s: said %v, want %v", c.webhook, c.end, got, c.want)
		}
	}
}

// TestEndpointAlertsOncePerPeriod: while the webhook stays disabled the effect is planned when that
// begins and once in every AlertEvery, not in every pass; the line is in every pass, as it is without a
// rule [R4].
func TestEndpointAlertsOncePerPeriod(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, setting{alerts: true})
	at, id := w.endpoint(webhooks.DisabledByFailures)
	var effects []string
	const days = 3
	for range days * 24 { // from noon to noon
		w.passWith(reconcile.Options{Endpoint: at})
		effects = append(effects, w.pages()...)
		if logged := w.alerted(); !cmp.Equal(logged, []string{"webhooks/" + id + " disabled"}) {
			t.Errorf("R4: logged %v", logged)
		}
		w.clock.Advance(time.Hour)
	}
	if want := []string{"page@disabled-1", "page@disabled-2", "page@disabled-3"}; !cmp.Equal(effects, want) {
		t.Errorf("R4: alerts in %d days: %v, want %v", days, effects, want)
	}
}

// pages returns the effects that were published for the first time, and runs them.
func (w *world) pages() (effects []string) {
	w.Helper()
	for _, m := range w.outbox.Drain() {
		if m.Attempt == 1 {
			effects = append(effects, m.Effect)
			w.done(m)
		}
	}
	return effects
}

// TestEndpointAlertsEachTime: a webhook that is disabled again after a pass saw it enabled is alerted
// again, however soon that is [R4].
func TestEndpointAlertsEachTime(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, setting{alerts: true})
	at, id := w.endpoint(webhooks.Enabled)
	var effects []string
	for _, state := range []string{
		webhooks.Enabled, webhooks.Disabled, webhooks.Disabled, webhooks.Enabled, webhooks.Enabled,
		webhooks.DisabledByFailures, webhooks.DisabledByFailures,
	} {
		if err := w.sim.SetWebhookState(id, state); err != nil {
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

// done runs an effect.
func (w *world) done(m ledger.Message) {
	w.Helper()
	grant, err := w.ledger.Effects.Claim(w.Context(), m.Operation, m.Effect)
	if err != nil || grant.Verdict != ledger.Claimed {
		w.Fatalf("%v: %+v %v", m, grant, err)
	}
	if err := w.ledger.Effects.Finish(w.Context(), grant.Lease); err != nil {
		w.Fatal(err)
	}
}

// TestEndpointStaysDisabled: where Gemini does not enable the webhook again, that counts as an error,
// and the alert stands [R4].
func TestEndpointStaysDisabled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at, id := w.endpoint(webhooks.DisabledByFailures)
	at.Reenable, at.ToCheck = true, "look at it"
	gemini := w.server.Config.Handler
	w.server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			http.Error(rw, `{"error":{"message":"no rights"}}`, http.StatusForbidden)
			return
		}
		gemini.ServeHTTP(rw, r)
	})
	if got := w.passWith(reconcile.Options{Endpoint: at}); got != (reconcile.Summary{Errors: 1}) {
		t.Errorf("R4: %+v", got)
	}
	for _, line := range w.log.Drain(t) {
		if line["outcome"] == "webhook-enabled" {
			t.Errorf("R4: %v", line)
		}
		says := fmt.Sprint(line["message"])
		if line["event"] == "alert" && !strings.HasSuffix(says, "delivered; look at it") {
			t.Errorf("R4: the alert about %s says %q", id, says)
		}
	}
}

// TestEndpointCannotBeRead: where Gemini does not return the webhook's state, that counts as an
// error and is no alert.
func TestEndpointCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at, _ := w.endpoint(webhooks.DisabledByFailures)
	w.sim.AnswerNext(geminisim.OpWebhook, "", geminisim.ErrorAnswer(http.StatusServiceUnavailable, "later"))
	if got := w.passWith(reconcile.Options{Endpoint: at}); got != (reconcile.Summary{Errors: 1}) {
		t.Errorf("R6: %+v", got)
	}
	if got := w.alerted(); got != nil {
		t.Errorf("R4: alerts %v", got)
	}
	// Nor is it looked at when there is no webhook.
	before := w.sim.Stats().APIRequests
	w.pass(reconcile.Summary{})
	if after := w.sim.Stats().APIRequests; after != before {
		t.Errorf("%d requests", after-before)
	}
}
