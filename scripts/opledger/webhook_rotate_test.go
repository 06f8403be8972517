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

// TestWebhookRotate: the new secret is stored before success is reported. The old one stays enabled
// while Gemini signs with it, and a later rotation disables it [G3].
func TestWebhookRotate(t *testing.T) {
	t.Parallel()
	clock := hookClock()
	w := newHookWorldAt(t, clock.Now)
	w.do("create").want(t, exitDone)
	first := w.told()[0]
	s := w.do("rotate").want(t, exitDone).
		says(t, "webhook "+w.only()+" has a new secret", "valid for 24 hours", "/secrets/opledger-webhook/versions/2")
	second := w.told()[1]
	w.wantStored(second, first)
	if strings.Contains(s.out, "disabled") {
		t.Errorf("%s", s.out)
	}

	clock.Advance(24*time.Hour + 30*time.Minute) // Gemini signs with it no more; a delivery may still be under way
	w.do("rotate").want(t, exitDone)
	third := w.told()[2]
	w.wantStored(third, second, first)

	clock.Advance(time.Hour)
	w.do("rotate", w.only()).want(t, exitDone).says(t, "disabled", "/versions/1")
	w.wantStored(w.told()[3], third, second, "-"+first)

	clock.Advance(26 * time.Hour)
	var answer struct {
		Webhook          string
		DisabledVersions []string
		SecretVersion    string
		Revoked          bool
	}
	s = w.do("rotate", "--json").want(t, exitDone)
	oneObject(t, s.out, &answer)
	if answer.Webhook != w.only() || answer.Revoked || len(answer.DisabledVersions) != 2 ||
		!strings.HasSuffix(answer.SecretVersion, "/versions/5") {
		t.Errorf("%s", s.out)
	}
	w.wantStored(w.told()[4], w.told()[3], "-"+third, "-"+second, "-"+first)
}

// TestWebhookRotateRevokes: --revoke-now ends a stolen secret at once, at Gemini and in Secret
// Manager; a secret of another webhook stays.
func TestWebhookRotateRevokes(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.do("create").want(t, exitDone)
	w.do("create", "--url", "https://other.example/").want(t, exitDone)
	w.do("rotate").want(t, exitDone)
	w.do("rotate", "--revoke-now").want(t, exitDone).says(t, "revoked", "disabled", "/versions/3, ", "/versions/1\n")
	told := w.told()
	for i, want := range []bool{false, true, false, true} {
		versions := w.secrets.Versions(hookSecret)
		if got := versions[len(versions)-1-i]; got.Enabled != want || got.Data != told[i] {
			t.Errorf("version %d is enabled: %v, want %v", i+1, got.Enabled, want)
		}
	}
}

// TestWebhookRotateWithoutStoring: without a place for the secret nothing is rotated; if storing
// fails, the error says how long the old secret is valid.
func TestWebhookRotateWithoutStoring(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.do("create").want(t, exitDone)
	w.took()
	w.secrets.Deny("secretmanager.versions.add")
	w.do("rotate").want(t, exitFailed, "nothing was rotated", "secretVersionAdder").complaint(t)
	if writes := w.took(); len(writes) != 0 {
		t.Errorf("asked of Gemini: %s", writes)
	}
	w.secrets.ClearFaults()
	w.secrets.Fail("AddSecretVersion", codes.Unavailable, -1)
	s := w.do("rotate").want(t, exitFailed, "could not be stored", "valid for 24 hours", "rotate again")
	s.complaint(t)
	if s.out != "" {
		t.Errorf("success was said: %s", s.out)
	}
	w.wantStored(w.told()[0])
	w.do("rotate", "--revoke-now").want(t, exitFailed, "refused until another rotation",
		"rotate --revoke-now again now").complaint(t)
	w.secrets.ClearFaults()
	w.do("rotate").want(t, exitDone)
	w.wantStored(w.told()[3], w.told()[0])
}

// TestWebhookRotateUnanswered: a rotation without an answer may have happened, and another rotation
// repairs it.
func TestWebhookRotateUnanswered(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.do("create").want(t, exitDone)
	w.took()
	w.at(http.MethodPost, ":rotateSigningSecret", unavailable)
	w.do("rotate").want(t, exitFailed, "503", "valid for 24 hours", "rotate again").complaint(t)
	if writes := w.took(); len(writes) != 1 {
		t.Errorf("asked of Gemini: %s", writes)
	}
	w.at(http.MethodPost, ":rotateSigningSecret", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"secret":"whsec_short"}`)
	})
	if s := w.do("rotate").want(t, exitFailed, "cannot be used", "rotate again"); strings.Contains(s.err, "whsec_short") {
		t.Errorf("%s", s.err)
	}
	w.wantStored(w.told()[0])
}

// TestWebhookRotateWhich: without an id it is the only webhook for our URL.
func TestWebhookRotateWhich(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.do("rotate").want(t, exitFailed, "there is no webhook for "+hookURL, "create").complaint(t)
	w.do("rotate", "nosuch").want(t, exitFailed, "404", "webhook list").complaint(t)
	w.do("rotate", "a/b").want(t, exitFailed, "id").complaint(t)
	ids := []string{w.registerWebhook(hookURL), w.registerWebhook(hookURL)}
	w.do("rotate").want(t, exitFailed, "2 webhooks", ids[0], ids[1]).complaint(t)
	w.do("rotate", "webhooks/"+ids[1], "--print-secret", "--url", "https://unused.example").want(t, exitDone).says(t,
		"whsec_")
}

// TestWebhookRotatePrints: without Secret Manager the secret is printed, if asked.
func TestWebhookRotatePrints(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.registerWebhook(hookURL)
	s := w.doWith(w.with("OPLEDGER_WEBHOOK_SECRET"), "", "rotate", "--print-secret").want(t, exitDone)
	told := w.told()
	if !strings.HasSuffix(s.out, "\n"+told[len(told)-1]+"\n") || w.secrets.Calls("AddSecretVersion") != 0 {
		t.Errorf("the secret was not printed, or stored without being asked")
	}
}

// TestWebhookRotateTidies: a failure to disable old versions is reported, and the rotation
// succeeds.
func TestWebhookRotateTidies(t *testing.T) {
	t.Parallel()
	for says, fault := range map[string]func(*hookWorld){
		"roles/secretmanager.viewer": func(w *hookWorld) { w.secrets.Deny("secretmanager.versions.list") },
		"secretVersionManager":       func(w *hookWorld) { w.secrets.Deny("secretmanager.versions.disable") },
	} {
		w := newHookWorld(t)
		w.secrets.Put(hookSecret, "old", time.Now().Add(-100*time.Hour))
		w.secrets.Put(hookSecret, "older than a day", time.Now().Add(-50*time.Hour))
		w.registerWebhook(hookURL)
		fault(w)
		w.do("rotate").want(t, exitDone, says).says(t, "has a new secret", "/versions/3")
		if enabled := slices.ContainsFunc(w.secrets.Versions(hookSecret), func(v version) bool {
			return !v.Enabled
		}); enabled {
			t.Error("a version was disabled")
		}
	}
}
