package main

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
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
	code := run(t.Context(), []string{"webhook", "create"}, environment{
		variables: w.variables, err: &err, out: watched{&out, func() {
			if told := w.told(); !seen && len(told) == 1 {
				w.wantStored(told[0])
			}
			seen = true
		}},
	})
	s := said{code, out.String(), err.String()}.want(t, exitDone, "made the secret "+hookSecret).
		says(t, "created webhook "+w.only(), hookURL, "batch.succeeded",
			"does not accept batch.cancelled interaction.cancelled",
			"reconcile finds those ends", "/secrets/opledger-webhook/versions/1")
	if !seen || strings.Contains(s.out+s.err, w.told()[0]) {
		t.Errorf("%+v", s)
	}
	w.wantStored(w.told()[0])

	w.took()
	w.do("create", "--url", "https://Webhook.example").want(t, exitFailed, "already", w.only(), "check",
		"rotate").complaint(t)
	if writes := w.took(); len(writes) != 0 {
		t.Errorf("asked of Gemini: %s", writes)
	}
}

// TestWebhookCreatePrints: the secret is printed only if asked, and Secret Manager is then not
// needed; and JSON.
func TestWebhookCreatePrints(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	s := w.doWith(w.with("OPLEDGER_WEBHOOK_SECRET"), "", "create", "--print-secret").want(t, exitDone)
	if !strings.Contains(s.out, "\n"+w.told()[0]+"\n") || w.secrets.Exists(hookSecret) {
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
	s = w.do("create", "--url", "https://other.example/", "--json", "--name", "other").want(t, exitDone)
	oneObject(t, s.out, &answer)
	if answer.Webhook.ID == "" || len(answer.Webhook.Events) != 7 || len(answer.RefusedEvents) != 2 ||
		answer.Secret != nil ||
		!strings.HasSuffix(answer.SecretVersion, "/versions/1") {
		t.Errorf("%s", s.out)
	}
	w.wantStored(w.told()[1])
	s = w.do("create", "--url", "https://third.example/", "--json", "--print-secret").want(t, exitDone)
	oneObject(t, s.out, &answer)
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
	s := w.do("create").want(t, exitDone).says(t, "batch.cancelled")
	if strings.Contains(s.out, "accept") {
		t.Errorf("%s", s.out)
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
		w.do("create").want(t, exitFailed, "nothing was created", hookSecret, says).complaint(t)
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
	w.do("create").want(t, exitDone)
	w.wantStored(w.told()[0])
	if want := []time.Duration{500 * time.Millisecond, time.Second}; !slices.Equal(w.waited, want) {
		t.Errorf("waited %v, want %v", w.waited, want)
	}

	w = newHookWorld(t)
	w.secrets.Lose("AddSecretVersion", 1)
	w.do("create").want(t, exitDone)
	w.wantStored(w.told()[0], w.told()[0])

	w = newHookWorld(t)
	w.secrets.Make(hookSecret)
	w.secrets.Fail("AddSecretVersion", codes.Unavailable, -1)
	s := w.do("create").want(t, exitFailed, "deleted again", "Unavailable")
	s.complaint(t)
	if n := w.secrets.Calls("AddSecretVersion"); n != storeTries || s.out != "" {
		t.Errorf("%d tries, %q", n, s.out)
	}
	if s := w.do("list"); s.out != "no webhooks\n" {
		t.Errorf("%s", s.out)
	}

	w = newHookWorld(t)
	w.secrets.Make(hookSecret)
	w.secrets.Fail("AddSecretVersion", codes.PermissionDenied, -1)
	w.do("create").want(t, exitFailed, "deleted again", "roles/secretmanager.secretVersionAdder").complaint(t)
	if n := w.secrets.Calls("AddSecretVersion"); n != 1 {
		t.Errorf("%d tries of what is not allowed", n)
	}

	w = newHookWorld(t)
	w.secrets.Make(hookSecret)
	w.secrets.Fail("AddSecretVersion", codes.Unavailable, -1)
	w.at(http.MethodDelete, "", unavailable)
	s = w.do("create").want(t, exitFailed, "could not be deleted again")
	if id := w.only(); !strings.Contains(s.complaint(t), "opledger webhook rotate "+id) {
		t.Errorf("%s is not named: %s", id, s.err)
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
		s := w.do("create").want(t, exitFailed, "signing secret", "webhook h was created")
		if strings.Contains(s.err, "whsec_short") {
			t.Errorf("%s", s.err)
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
	w.do("create").want(t, exitFailed, "503", "if a webhook for "+hookURL+" is listed, delete it").complaint(t)
	if writes := w.took(); len(writes) != 1 {
		t.Errorf("asked of Gemini: %q", writes)
	}
	w.at(http.MethodPost, "/webhooks", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(rw, `{"error":{"code":403,"message":"no"}}`)
	})
	if s := w.do("create").want(t, exitFailed, "403", "API key"); strings.Contains(s.err, "delete it") {
		t.Errorf("%s", s.err)
	}
	w.at(http.MethodGet, "/webhooks", unavailable)
	w.took()
	w.do("create").want(t, exitFailed, "503", "listing").complaint(t)
	if writes := w.took(); len(writes) != 0 {
		t.Errorf("asked of Gemini: %q", writes)
	}
}
