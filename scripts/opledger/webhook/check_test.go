package webhook_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/scripts/opledger/webhook"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/secret/secretsim"
	"github.com/opledger/opledger/test/commandtest"
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
	commandtest.OneObject(w.t, answer.Body.String(), &hook)
	return hook.ID
}

// TestWebhookOfAnotherKind: if the settings want no static webhook, none is missing, an existing
// one is reported, and none is created.
func TestWebhookOfAnotherKind(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"dynamic", "none"} {
		w := newHookWorld(t)
		variables := append(w.variables, "OPLEDGER_WEBHOOK="+kind)
		w.doWith(variables, "", "create").Want(t, terminal.ExitUsage, "OPLEDGER_WEBHOOK is "+kind, "OPLEDGER_WEBHOOK=static")
		if len(w.told()) != 0 {
			t.Errorf("%s: a webhook was made", kind)
		}
		w.doWith(variables, "", "check").Want(t, terminal.ExitDone).Says(t,
			"ok     there is no static webhook, as OPLEDGER_WEBHOOK="+kind+" says")
		w.doWith(append(w.with("OPLEDGER_WEBHOOK_URL"), "OPLEDGER_WEBHOOK="+kind), "", "check").Want(t, terminal.ExitDone)
		w.do("create").Want(t, terminal.ExitDone)
		w.doWith(variables, "", "check").Want(t, terminal.ExitFailed).
			Says(t, "wrong  webhook "+w.only()+" delivers to "+hookURL+", and OPLEDGER_WEBHOOK is "+kind,
				"opledger webhook delete")
	}
	w := newHookWorld(t)
	w.doWith(append(w.variables, "OPLEDGER_WEBHOOK=both"), "", "check").Want(t, terminal.ExitUsage,
		`OPLEDGER_WEBHOOK: it must be static, dynamic or none, not "both"`)
}

// TestWebhookCheckWithoutURL: where no setting says which webhook is meant, the only one is checked; of none and of
// several is said what there is, and what to do.
func TestWebhookCheckWithoutURL(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	check := func() commandtest.Said {
		t.Helper()
		return w.doWith(w.with("OPLEDGER_WEBHOOK_URL"), "", "check")
	}
	check().Want(t, terminal.ExitFailed).Says(t, "wrong  there is no webhook at Gemini", "opledger webhook create --url")
	w.do("create").Want(t, terminal.ExitDone)
	check().Want(t, terminal.ExitDone).Says(t, "note   OPLEDGER_WEBHOOK_URL is not set: checked is the only webhook",
		"ok     webhook "+w.only()+" delivers to "+hookURL)
	other := w.registerWebhook("https://other.example/hook")
	check().Want(t, terminal.ExitFailed, "1 of 3 findings are wrong").Says(t,
		"note   webhook "+other+" delivers to https://other.example/hook", "delivers to "+hookURL,
		"wrong  which of these 2 is to be checked is not known; set OPLEDGER_WEBHOOK_URL")
}

// TestWebhookCheck: a new webhook is right, also after a rotation; then everything that can be
// wrong.
func TestWebhookCheck(t *testing.T) {
	t.Parallel()
	clock := hookClock()
	w := newHookWorldAt(t, clock.Now)
	w.do("check").Want(t, terminal.ExitFailed, "2 of 2 findings are wrong").
		Says(t, "wrong  there is no webhook for "+hookURL, "opledger webhook create", "gcloud secrets create")
	w.do("create").Want(t, terminal.ExitDone)
	w.do("check").Want(t, terminal.ExitDone).Says(t,
		"ok     webhook "+w.only()+" delivers to "+hookURL, "is enabled", "is subscribed to batch.succeeded",
		"note   "+w.only()+" is not subscribed to batch.cancelled interaction.cancelled", "reconcile finds those completions",
		"signs with whsec_...", "which is projects/", "/versions/1")
	w.do("rotate").Want(t, terminal.ExitDone)
	w.do("check").Want(t, terminal.ExitDone).Says(t, "until 2026-11-22", "/versions/1", "/versions/2")

	var answer struct {
		OK       bool
		Findings []webhook.Finding
	}
	commandtest.OneObject(t, w.do("check", "--json").Want(t, terminal.ExitDone).Out, &answer)
	if !answer.OK || len(answer.Findings) != 6 {
		t.Errorf("%+v", answer)
	}

	versions := w.secrets.Versions(hookSecret)
	w.secrets.SetDisabled(versions[1].Name) // the old one: any one signature is enough
	w.do("check").Want(t, terminal.ExitDone).Says(t, "note   "+w.only()+" signs with", "any one signature is enough")
	w.secrets.SetDisabled(versions[0].Name)
	w.do("check").Want(t, terminal.ExitFailed).Says(t, "wrong  secret "+hookSecret+" has no enabled version")
	w.secrets.Put(hookSecret, "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n", clock.Now())
	w.do("check").Want(t, terminal.ExitFailed, "1 of ").Says(t,
		"which the webhook function does not know; run opledger webhook rotate "+w.only(),
		"note   no webhook signs with projects/")
	w.do("rotate").Want(t, terminal.ExitDone)
	w.do("check").Want(t, terminal.ExitDone)

	w.secrets.Put(hookSecret, "not a signing secret", clock.Now())
	s := w.do("check", "--json").Want(t, terminal.ExitFailed, "1 of ")
	commandtest.OneObject(t, s.Out, &answer)
	if answer.OK || !strings.Contains(s.Out, "is not a signing secret") || !strings.Contains(s.Out,
		"does not start with it") {
		t.Errorf("%s", s.Out)
	}
}

func TestWebhookCheckStates(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.do("create").Want(t, terminal.ExitDone)
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
		w.do("check").Want(t, terminal.ExitFailed).Says(t, says)
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
	w.do("check").Want(t, terminal.ExitFailed).Says(t, "and 1 for other addresses", "correct OPLEDGER_WEBHOOK_URL")
	one := w.registerWebhook(hookURL, "batch.succeeded", "video.generated")
	first := w.told()[1]
	w.do("check").Want(t, terminal.ExitFailed).Says(t, "wrong  "+one+" is not subscribed to batch.failed batch.expired",
		"delete it and create it again")
	two := w.registerWebhook(hookURL)
	w.do("check").Want(t, terminal.ExitFailed).Says(t, "there are 2 webhooks for "+hookURL+" ("+one+", "+two+")",
		"delete ID")

	literal := w.with("OPLEDGER_WEBHOOK_SECRET", "OPLEDGER_WEBHOOK_SECRET=whsec_bad "+first)
	s := w.doWith(literal, "", "check").Want(t, terminal.ExitFailed).
		Says(t, "secret 1 of OPLEDGER_WEBHOOK_SECRET is not a signing secret", "which is secret 2 of OPLEDGER_WEBHOOK_SECRET")
	if strings.Contains(s.Out, "whsec_bad") {
		t.Errorf("%s", s.Out)
	}
	literal = w.with("OPLEDGER_WEBHOOK_SECRET", "OPLEDGER_WEBHOOK_SECRET="+commandtest.DeliverSecret)
	w.doWith(literal, "", "check").Want(t, terminal.ExitFailed).Says(t, "; run opledger webhook rotate "+two+
		" --print-secret, add what it prints to OPLEDGER_WEBHOOK_SECRET of serve, and start that again")
	w.doWith(literal, "", "rotate", two, "--print-secret").Want(t, terminal.ExitDone)
	flags := []string{"--url", hookURL, "--secret", "projects/p/secrets/other"}
	w.secrets.Put(flags[3], commandtest.DeliverSecret, time.Now())
	w.doWith(literal, "", append([]string{"check"}, flags...)...).Want(t, terminal.ExitFailed).Says(t,
		"; run opledger webhook rotate "+two+" --secret projects/p/secrets/other, which stores a new one")
	w.doWith(literal, "", "check", "--url", hookURL+"none").Want(t, terminal.ExitFailed).Says(t,
		"create it with opledger webhook create --url "+hookURL+"none --print-secret, or correct")
	w.doWith(w.with("OPLEDGER_WEBHOOK_SECRET"), "", "check").Want(t, terminal.ExitFailed).Says(t,
		"set OPLEDGER_WEBHOOK_SECRET, or pass --secret")
	w.secrets.Deny("secretmanager.versions.access")
	w.do("check").Want(t, terminal.ExitFailed).Says(t, "roles/secretmanager.secretAccessor")
	w.at(http.MethodGet, "/webhooks", unavailable)
	w.do("check").Want(t, terminal.ExitUnread, "503").Complaint(t)
}
