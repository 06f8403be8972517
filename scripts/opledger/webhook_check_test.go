package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/secret/secretsim"
)

type version = secretsim.Version

// registerWebhook makes a webhook that opledger did not create, for some events (none: the seven),
// and returns its id.
func (w *hookWorld) registerWebhook(uri string, events ...string) string {
	w.t.Helper()
	if len(events) == 0 {
		events = geminisim.Events()
	}
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodPost, "/v1beta/webhooks",
		strings.NewReader(`{"name":"by hand","uri":"`+uri+`","subscribed_events":["`+strings.Join(events, `","`)+`"]}`))
	r.Header.Set("X-Goog-Api-Key", "k")
	answer := httptest.NewRecorder()
	w.ServeHTTP(answer, r)
	var hook struct{ ID string }
	oneObject(w.t, answer.Body.String(), &hook)
	return hook.ID
}

// TestWebhookOfAnotherKind: if the settings want no static webhook, none is missing, an existing
// one is reported, and none is created.
func TestWebhookOfAnotherKind(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"dynamic", "none"} {
		w := newHookWorld(t)
		variables := append(w.variables, "OPLEDGER_WEBHOOK="+kind)
		w.doWith(variables, "", "create").want(t, exitUsage, "OPLEDGER_WEBHOOK is "+kind, "OPLEDGER_WEBHOOK=static")
		if len(w.told()) != 0 {
			t.Errorf("%s: a webhook was made", kind)
		}
		w.doWith(variables, "", "check").want(t, exitDone).says(t,
			"ok     there is no static webhook, as OPLEDGER_WEBHOOK="+kind+" says")
		w.doWith(append(w.with("OPLEDGER_WEBHOOK_URL"), "OPLEDGER_WEBHOOK="+kind), "", "check").want(t, exitDone)
		w.do("create").want(t, exitDone)
		w.doWith(variables, "", "check").want(t, exitFailed).
			says(t, "wrong  webhook "+w.only()+" delivers to "+hookURL+", and OPLEDGER_WEBHOOK is "+kind,
				"opledger webhook delete")
	}
	w := newHookWorld(t)
	w.doWith(append(w.variables, "OPLEDGER_WEBHOOK=both"), "", "check").want(t, exitUsage,
		`OPLEDGER_WEBHOOK: it must be static, dynamic or none, not "both"`)
}

// TestWebhookCheck: a new webhook is right, also after a rotation; then everything that can be
// wrong.
func TestWebhookCheck(t *testing.T) {
	t.Parallel()
	clock := hookClock()
	w := newHookWorldAt(t, clock.Now)
	w.do("check").want(t, exitFailed, "2 of 2 findings are wrong").
		says(t, "wrong  there is no webhook for "+hookURL, "opledger webhook create", "gcloud secrets create")
	w.do("create").want(t, exitDone)
	w.do("check").want(t, exitDone).says(t,
		"ok     webhook "+w.only()+" delivers to "+hookURL, "is enabled", "is subscribed to batch.succeeded",
		"note   "+w.only()+" is not subscribed to batch.cancelled interaction.cancelled", "reconcile finds those ends",
		"signs with whsec_...", "which is projects/", "/versions/1")
	w.do("rotate").want(t, exitDone)
	w.do("check").want(t, exitDone).says(t, "until 2026-11-22", "/versions/1", "/versions/2")

	var answer struct {
		OK       bool
		Findings []finding
	}
	oneObject(t, w.do("check", "--json").want(t, exitDone).out, &answer)
	if !answer.OK || len(answer.Findings) != 6 {
		t.Errorf("%+v", answer)
	}

	versions := w.secrets.Versions(hookSecret)
	w.secrets.SetDisabled(versions[1].Name) // the old one: any one signature is enough
	w.do("check").want(t, exitDone).says(t, "note   "+w.only()+" signs with", "any one signature is enough")
	w.secrets.SetDisabled(versions[0].Name)
	w.do("check").want(t, exitFailed).says(t, "wrong  secret "+hookSecret+" has no enabled version")
	w.secrets.Put(hookSecret, "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n", clock.Now())
	w.do("check").want(t, exitFailed, "1 of ").says(t,
		"which the webhook function does not know; run opledger webhook rotate "+w.only(),
		"note   no webhook signs with projects/")
	w.do("rotate").want(t, exitDone)
	w.do("check").want(t, exitDone)

	w.secrets.Put(hookSecret, "not a signing secret", clock.Now())
	s := w.do("check", "--json").want(t, exitFailed, "1 of ")
	oneObject(t, s.out, &answer)
	if answer.OK || !strings.Contains(s.out, "is not a signing secret") || !strings.Contains(s.out,
		"does not start with it") {
		t.Errorf("%s", s.out)
	}
}

func TestWebhookCheckStates(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.do("create").want(t, exitDone)
	for state, says := range map[string]string{
		geminisim.WebhookDisabledDueToFailedDeliveries: "OPLEDGER_WEBHOOK_REENABLE=true",
		geminisim.WebhookDisabled:                      "create it again",
		"asleep":                                       "does not know: asleep",
	} {
		if state == "asleep" {
			w.at(http.MethodGet, "/webhooks", func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "application/json")
				_, _ = rw.Write([]byte(`{"webhooks":[{"id":"h","uri":"` + hookURL + `","state":"asleep"}]}`))
			})
		} else if err := w.gemini.SetWebhookState(w.only(), state); err != nil {
			t.Fatal(err)
		}
		w.do("check").want(t, exitFailed).says(t, says)
		w.at("", "", nil)
	}
}

// TestWebhookCheckOthers: missing events, several webhooks, other addresses, and secrets in the
// settings themselves.
func TestWebhookCheckOthers(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.secrets.Put(hookSecret, "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", time.Now())
	w.registerWebhook("https://elsewhere.example/")
	w.do("check").want(t, exitFailed).says(t, "and 1 for other addresses", "correct OPLEDGER_WEBHOOK_URL")
	one := w.registerWebhook(hookURL, "batch.succeeded", "video.generated")
	first := w.told()[1]
	w.do("check").want(t, exitFailed).says(t, "wrong  "+one+" is not subscribed to batch.failed batch.expired",
		"delete it and create it again")
	two := w.registerWebhook(hookURL)
	w.do("check").want(t, exitFailed).says(t, "there are 2 webhooks for "+hookURL+" ("+one+", "+two+")", "delete ID")

	literal := w.with("OPLEDGER_WEBHOOK_SECRET", "OPLEDGER_WEBHOOK_SECRET=whsec_bad "+first)
	s := w.doWith(literal, "", "check").want(t, exitFailed).
		says(t, "secret 1 of OPLEDGER_WEBHOOK_SECRET is not a signing secret", "which is secret 2 of OPLEDGER_WEBHOOK_SECRET")
	if strings.Contains(s.out, "whsec_bad") {
		t.Errorf("%s", s.out)
	}
	w.doWith(w.with("OPLEDGER_WEBHOOK_SECRET"), "", "check").want(t, exitFailed).says(t,
		"set OPLEDGER_WEBHOOK_SECRET, or pass --secret")
	w.secrets.Deny("secretmanager.versions.access")
	w.do("check").want(t, exitFailed).says(t, "roles/secretmanager.secretAccessor")
	w.at(http.MethodGet, "/webhooks", unavailable)
	w.do("check").want(t, exitUnread, "503").complaint(t)
}
