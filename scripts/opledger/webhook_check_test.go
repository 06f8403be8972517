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

// registerWebhook makes a webhook at Gemini as somebody else would, for some events (none: the
// seven), and returns its id.
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

// TestWebhookOfAnotherKind: where there is to be no static webhook none is missing, one that is
// there is wrong, and none is made.
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

// TestWebhookCheck: what was just created is right, and so it is after a rotation; then each thing
// that can be wrong.
func TestWebhookCheck(t *testing.T) {
	t.Parallel()
	clock := newHandClock()
	w := newHookWorldAt(t, clock.now)
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
	w.secrets.Put(hookSecret, "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n", clock.now())
	w.do("check").want(t, exitFailed, "1 of ").says(t,
		"which the webhook function does not know; run opledger webhook rotate "+w.only(),
		"note   no webhook signs with projects/")
	w.do("rotate").want(t, exitDone)
	w.do("check").want(t, exitDone)

	w.secrets.Put(hookSecret, "not a signing secret", clock.now())
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

// TestWebhookCheckOthers: too few events, too many webhooks, other addresses, and secrets that
// stand in the settings.
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
	w.do("check").want(t, exitFailed, "503").complaint(t)
}

// TestWebhookList: a table for a person and JSON, with the ends of secrets and not the secrets.
func TestWebhookList(t *testing.T) {
	t.Parallel()
	clock := newHandClock()
	w := newHookWorldAt(t, clock.now)
	if s := w.do("list").want(t, exitDone); s.out != "no webhooks\n" {
		t.Errorf("%q", s.out)
	}
	w.do("create").want(t, exitDone)
	w.do("rotate").want(t, exitDone)
	s := w.do("list").want(t, exitDone).says(t, "ID ", "NAME ", "URL ", "STATE ", "EVENTS ", "SECRETS", w.only(), hookURL,
		"enabled",
		"batch.succeeded batch.failed",
		"whsec_..."+w.told()[1][len(w.told()[1])-4:]+", whsec_..."+w.told()[0][len(w.told()[0])-4:]+" until "+
			localTime(clock.now().Add(24*time.Hour)))
	if strings.Count(s.out, "\n") != 2 {
		t.Errorf("%s", s.out)
	}
	w.do("list", "--json").want(t, exitDone).says(t, `"expires": "2026-11-22T12:00:00Z"`)
	w.at(http.MethodGet, "/webhooks", unavailable)
	w.do("list").want(t, exitFailed, "503").complaint(t)
}

// TestWebhookPing: Gemini is asked, and it is said that its answer proves nothing and where to
// look.
func TestWebhookPing(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.do("ping").want(t, exitFailed, "there is no webhook for "+hookURL).complaint(t)
	w.do("create").want(t, exitDone)
	w.took()
	id := w.only()
	for _, args := range [][]string{{"ping"}, {"ping", id}, {"ping", "--url", hookURL}} {
		w.do(args...).want(t, exitDone).says(t, hookURL, "cannot be reached", "quarantine", "log")
		if writes := w.took(); len(writes) != 1 || writes[0] != "POST /"+id+":ping" {
			t.Errorf("asked of Gemini: %s", writes)
		}
	}
	w.do("ping", "nosuch").want(t, exitFailed, "404").complaint(t)
	w.at(http.MethodPost, ":ping", unavailable)
	w.do("ping").want(t, exitFailed, "503").complaint(t)
}

// TestWebhookDelete asks first, and leaves the secret's versions.
func TestWebhookDelete(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.do("create").want(t, exitDone)
	id := w.only()
	for _, answer := range []string{"", "n\n", "\n", "yes please\n"} {
		s := w.doWith(w.variables, answer, "delete", id).want(t, exitFailed, "Delete webhook "+id, hookURL, "[y/N]",
			"nothing was deleted", "--yes")
		if s.out != "" {
			t.Errorf("%q", s.out)
		}
	}
	w.only()
	w.at(http.MethodDelete, "", unavailable)
	w.do("delete", id, "--yes").want(t, exitFailed, "503").complaint(t)
	w.at("", "", nil)
	w.doWith(w.variables, "y\n", "delete", id).want(t, exitDone, "[y/N]").says(t, "deleted webhook "+id,
		"stay in Secret Manager")
	w.wantStored(w.told()[0])
	w.do("delete", id, "--yes").want(t, exitFailed, "404", "webhook list").complaint(t)
	w.do("create").want(t, exitDone)
	w.do("delete", w.only(), "--yes").want(t, exitDone)
	if s := w.do("list"); s.out != "no webhooks\n" {
		t.Errorf("%s", s.out)
	}
}
