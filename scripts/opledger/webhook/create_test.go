package webhook_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/scripts/opledger/webhook"
	"github.com/opledger/opledger/test/commandtest"
)

// watched calls see before the first byte is printed.
type watched struct {
	io.Writer
	see func()
}

func (w watched) Write(p []byte) (int, error) {
	w.see()
	return w.Writer.Write(p)
}

// TestWebhookCreate: the secret is made, the webhook created, and the signing secret stored before
// success is reported [G3].
func TestWebhookCreate(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	var out, err strings.Builder
	seen := false
	code := root.Run(t.Context(), []string{"webhook", "create"}, terminal.Environment{
		Variables: w.variables, Err: &err, Out: watched{&out, func() {
			if told := w.told(); !seen && len(told) == 1 {
				w.wantStored(told[0])
			}
			seen = true
		}},
	})
	s := commandtest.Said{Code: code, Out: out.String(), Err: err.String()}.Want(t, terminal.ExitDone,
		"made the secret "+hookSecret).
		Says(t, "created webhook "+w.only(), hookURL, "batch.succeeded",
			"does not accept batch.cancelled interaction.cancelled",
			"reconcile finds those completions", "/secrets/opledger-webhook/versions/1")
	if !seen || strings.Contains(s.Out+s.Err, w.told()[0]) {
		t.Errorf("%+v", s)
	}
	w.wantStored(w.told()[0])

	w.took()
	w.do("create", "--url", "https://Webhook.example").Want(t, terminal.ExitFailed, "already", w.only(), "check",
		"rotate").Complaint(t)
	if writes := w.took(); len(writes) != 0 {
		t.Errorf("asked of Gemini: %s", writes)
	}
}

// TestWebhookCreatePrints: the secret is printed only if asked, and Secret Manager is then not
// needed; and JSON.
func TestWebhookCreatePrints(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	s := w.doWith(w.with("OPLEDGER_WEBHOOK_SECRET"), "", "create", "--print-secret").Want(t, terminal.ExitDone)
	if !strings.Contains(s.Out, "\n"+w.told()[0]+"\n") || w.secrets.Exists(hookSecret) {
		t.Error("the secret was not printed, or stored without being asked")
	}
	var answer struct {
		Webhook struct {
			ID     string
			Events []string
		}
		RefusedEvents []string
		SecretVersion string
		Secret        *string
	}
	s = w.do("create", "--url", "https://other.example/", "--json", "--name", "other").Want(t, terminal.ExitDone)
	commandtest.OneObject(t, s.Out, &answer)
	if answer.Webhook.ID == "" || len(answer.Webhook.Events) != 7 || len(answer.RefusedEvents) != 2 ||
		answer.Secret != nil ||
		!strings.HasSuffix(answer.SecretVersion, "/versions/1") {
		t.Errorf("%s", s.Out)
	}
	w.wantStored(w.told()[1])
	s = w.do("create", "--url", "https://third.example/", "--json", "--print-secret").Want(t, terminal.ExitDone)
	commandtest.OneObject(t, s.Out, &answer)
	if answer.Secret == nil || *answer.Secret != w.told()[2] {
		t.Error("the secret was not printed")
	}
	w.wantStored(w.told()[2], w.told()[1])
}

// TestWebhookCreateAllEvents: if Gemini accepts all nine events, no refused event is reported.
func TestWebhookCreateAllEvents(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.at(http.MethodPost, "/webhooks", func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"id":"h","new_signing_secret":"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",`+
			strings.TrimPrefix(string(body), "{"))
	})
	s := w.do("create").Want(t, terminal.ExitDone).Says(t, "batch.cancelled")
	if strings.Contains(s.Out, "accept") {
		t.Errorf("%s", s.Out)
	}
}

// TestWebhookCreateNeedsAPlace: without a place for the secret nothing is created.
func TestWebhookCreateNeedsAPlace(t *testing.T) {
	t.Parallel()
	for permission, says := range map[string]string{
		"secretmanager.secrets.create": "roles/secretmanager.admin",
		"secretmanager.versions.add":   "roles/secretmanager.secretVersionAdder",
	} {
		w := newHookWorld(t)
		if permission == "secretmanager.versions.add" {
			w.secrets.Make(hookSecret)
		}
		w.secrets.Deny(permission)
		w.do("create").Want(t, terminal.ExitFailed, "nothing was created", hookSecret, says).Complaint(t)
		if writes := w.took(); len(writes) != 0 {
			t.Errorf("asked of Gemini: %s", writes)
		}
	}
}

// TestWebhookCreateStores: storing is retried if Secret Manager is unavailable for a moment; if it
// stays unavailable, the creation is undone.
func TestWebhookCreateStores(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.secrets.Fail("AddSecretVersion", codes.Unavailable, 2)
	w.do("create").Want(t, terminal.ExitDone)
	w.wantStored(w.told()[0])
	if want := []time.Duration{500 * time.Millisecond, time.Second}; !slices.Equal(w.waited, want) {
		t.Errorf("waited %v, want %v", w.waited, want)
	}

	w = newHookWorld(t)
	w.secrets.Lose("AddSecretVersion", 1)
	w.do("create").Want(t, terminal.ExitDone)
	w.wantStored(w.told()[0], w.told()[0])

	w = newHookWorld(t)
	w.secrets.Make(hookSecret)
	w.secrets.Fail("AddSecretVersion", codes.Unavailable, -1)
	s := w.do("create").Want(t, terminal.ExitFailed, "deleted again", "Unavailable")
	s.Complaint(t)
	if n := w.secrets.Calls("AddSecretVersion"); n != webhook.StoreTries || s.Out != "" {
		t.Errorf("%d tries, %q", n, s.Out)
	}
	if s := w.do("list"); s.Out != "no webhooks\n" {
		t.Errorf("%s", s.Out)
	}

	w = newHookWorld(t)
	w.secrets.Make(hookSecret)
	w.secrets.Fail("AddSecretVersion", codes.PermissionDenied, -1)
	w.do("create").Want(t, terminal.ExitFailed, "deleted again", "roles/secretmanager.secretVersionAdder").Complaint(t)
	if n := w.secrets.Calls("AddSecretVersion"); n != 1 {
		t.Errorf("%d tries of what is not allowed", n)
	}

	w = newHookWorld(t)
	w.secrets.Make(hookSecret)
	w.secrets.Fail("AddSecretVersion", codes.Unavailable, -1)
	w.at(http.MethodDelete, "", unavailable)
	s = w.do("create").Want(t, terminal.ExitFailed, "could not be deleted again")
	if id := w.only(); !strings.Contains(s.Complaint(t), "opledger webhook rotate "+id) {
		t.Errorf("%s is not named: %s", id, s.Err)
	}
}

// TestWebhookCreateWithoutSecret: if Gemini returns no secret, or an invalid one, the creation is
// undone and nothing is stored: the webhook function would not start with it.
func TestWebhookCreateWithoutSecret(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"", `,"new_signing_secret":""`, `,"new_signing_secret":"whsec_short"`} {
		w := newHookWorld(t)
		w.at(http.MethodPost, "/webhooks", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(rw, `{"id":"h","uri":"https://x/","subscribed_events":[]`+field+`}`)
		})
		s := w.do("create").Want(t, terminal.ExitFailed, "signing secret", "webhook h was created")
		if strings.Contains(s.Err, "whsec_short") {
			t.Errorf("%s", s.Err)
		}
		w.wantStored()
		if writes := w.took(); !slices.Equal(writes, []string{"POST ", "DELETE /h"}) {
			t.Errorf("asked of Gemini: %q", writes)
		}
	}
}

// TestWebhookCreateUnanswered: it is not known whether the webhook was created; the error says so,
// and there is no second attempt.
func TestWebhookCreateUnanswered(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.secrets.Make(hookSecret)
	w.at(http.MethodPost, "/webhooks", unavailable)
	w.do("create").Want(t, terminal.ExitFailed, "503", "if a webhook for "+hookURL+" is listed, delete it").Complaint(t)
	if writes := w.took(); len(writes) != 1 {
		t.Errorf("asked of Gemini: %q", writes)
	}
	w.at(http.MethodPost, "/webhooks", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(rw, `{"error":{"code":403,"message":"no"}}`)
	})
	if s := w.do("create").Want(t, terminal.ExitFailed, "403", "API key"); strings.Contains(s.Err, "delete it") {
		t.Errorf("%s", s.Err)
	}
	w.at(http.MethodGet, "/webhooks", unavailable)
	w.took()
	w.do("create").Want(t, terminal.ExitFailed, "503", "listing").Complaint(t)
	if writes := w.took(); len(writes) != 0 {
		t.Errorf("asked of Gemini: %q", writes)
	}
}
