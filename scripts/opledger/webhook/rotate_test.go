package webhook_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestWebhookRotate: the new secret is stored before success is reported. The old one stays enabled
// while Gemini signs with it, and a later rotation disables it [G3].
func TestWebhookRotate(t *testing.T) {
	t.Parallel()
	clock := hookClock()
	w := newHookWorldAt(t, clock.Now)
	w.do("create").Want(t, terminal.ExitDone)
	first := w.told()[0]
	s := w.do("rotate").Want(t, terminal.ExitDone).
		Says(t, "webhook "+w.only()+" has a new secret", "valid for 24 hours", "/secrets/opledger-webhook/versions/2")
	second := w.told()[1]
	w.wantStored(second, first)
	if strings.Contains(s.Out, "disabled") {
		t.Errorf("%s", s.Out)
	}

	clock.Advance(24*time.Hour + 30*time.Minute) // Gemini signs with it no more; a delivery may still be under way
	w.do("rotate").Want(t, terminal.ExitDone)
	third := w.told()[2]
	w.wantStored(third, second, first)

	clock.Advance(time.Hour)
	w.do("rotate", w.only()).Want(t, terminal.ExitDone).Says(t, "disabled", "/versions/1")
	w.wantStored(w.told()[3], third, second, "-"+first)

	clock.Advance(26 * time.Hour)
	var answer struct {
		Webhook          string
		DisabledVersions []string
		SecretVersion    string
		Revoked          bool
	}
	s = w.do("rotate", "--json").Want(t, terminal.ExitDone)
	commandtest.OneObject(t, s.Out, &answer)
	if answer.Webhook != w.only() || answer.Revoked || len(answer.DisabledVersions) != 2 ||
		!strings.HasSuffix(answer.SecretVersion, "/versions/5") {
		t.Errorf("%s", s.Out)
	}
	w.wantStored(w.told()[4], w.told()[3], "-"+third, "-"+second, "-"+first)
}

// TestWebhookRotateRevokes: --revoke-now ends a stolen secret at once, at Gemini and in Secret
// Manager; a secret of another webhook stays.
func TestWebhookRotateRevokes(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.do("create").Want(t, terminal.ExitDone)
	w.do("create", "--url", "https://other.example/").Want(t, terminal.ExitDone)
	w.do("rotate").Want(t, terminal.ExitDone)
	w.do("rotate", "--revoke-now").Want(t, terminal.ExitDone).Says(t, "revoked", "disabled", "/versions/3, ",
		"/versions/1\n")
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
	w.do("create").Want(t, terminal.ExitDone)
	w.took()
	w.secrets.Deny("secretmanager.versions.add")
	w.do("rotate").Want(t, terminal.ExitFailed, "nothing was rotated", "secretVersionAdder").Complaint(t)
	if writes := w.took(); len(writes) != 0 {
		t.Errorf("asked of Gemini: %s", writes)
	}
	w.secrets.ClearFaults()
	w.secrets.Fail("AddSecretVersion", codes.Unavailable, -1)
	s := w.do("rotate").Want(t, terminal.ExitFailed, "could not be stored", "valid for 24 hours", "rotate again")
	s.Complaint(t)
	if s.Out != "" {
		t.Errorf("success was said: %s", s.Out)
	}
	w.wantStored(w.told()[0])
	w.do("rotate", "--revoke-now").Want(t, terminal.ExitFailed, "refused until another rotation",
		"rotate --revoke-now again now").Complaint(t)
	w.secrets.ClearFaults()
	w.do("rotate").Want(t, terminal.ExitDone)
	w.wantStored(w.told()[3], w.told()[0])
}

// TestWebhookRotateUnanswered: a rotation without an answer may have happened, and another rotation
// repairs it.
func TestWebhookRotateUnanswered(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.do("create").Want(t, terminal.ExitDone)
	w.took()
	w.at(http.MethodPost, ":rotateSigningSecret", unavailable)
	w.do("rotate").Want(t, terminal.ExitFailed, "503", "valid for 24 hours", "rotate again").Complaint(t)
	if writes := w.took(); len(writes) != 1 {
		t.Errorf("asked of Gemini: %s", writes)
	}
	w.at(http.MethodPost, ":rotateSigningSecret", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"secret":"whsec_short"}`)
	})
	if s := w.do("rotate").Want(t, terminal.ExitFailed, "cannot be used", "rotate again"); strings.Contains(s.Err,
		"whsec_short") {
		t.Errorf("%s", s.Err)
	}
	w.wantStored(w.told()[0])
}

// TestWebhookRotateWhich: without an id it is the only webhook for our URL.
func TestWebhookRotateWhich(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.do("rotate").Want(t, terminal.ExitFailed, "there is no webhook for "+hookURL, "create").Complaint(t)
	w.do("rotate", "nosuch").Want(t, terminal.ExitFailed, "404", "webhook list").Complaint(t)
	w.do("rotate", "a/b").Want(t, terminal.ExitFailed, "id").Complaint(t)
	ids := []string{w.registerWebhook(hookURL), w.registerWebhook(hookURL)}
	w.do("rotate").Want(t, terminal.ExitFailed, "2 webhooks", ids[0], ids[1]).Complaint(t)
	w.do("rotate", "webhooks/"+ids[1], "--print-secret", "--url", "https://unused.example").Want(t,
		terminal.ExitDone).Says(t,
		"whsec_")
}

// TestWebhookRotatePrints: without Secret Manager the secret is printed, if asked.
func TestWebhookRotatePrints(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.registerWebhook(hookURL)
	s := w.doWith(w.with("OPLEDGER_WEBHOOK_SECRET"), "", "rotate", "--print-secret").Want(t, terminal.ExitDone)
	told := w.told()
	if !strings.HasSuffix(s.Out, "\n"+told[len(told)-1]+"\n") || w.secrets.Calls("AddSecretVersion") != 0 {
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
		w.do("rotate").Want(t, terminal.ExitDone, says).Says(t, "has a new secret", "/versions/3")
		if enabled := slices.ContainsFunc(w.secrets.Versions(hookSecret), func(v version) bool {
			return !v.Enabled
		}); enabled {
			t.Error("a version was disabled")
		}
	}
}
