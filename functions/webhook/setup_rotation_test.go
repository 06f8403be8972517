package webhook_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/secret/secretsim"
	"github.com/opledger/opledger/shared/trust"
)

// stored is the name of the signing secret in these tests.
const stored = "projects/p/secrets/opledger-webhook"

// The default caching of trust's secrets.
const (
	secretsTTL = 5 * time.Minute
	secretsGap = 30 * time.Second
)

// newSecrets starts a simulated Secret Manager.
func newSecrets(t *testing.T) *secretsim.Sim {
	t.Helper()
	sim, err := secretsim.Start(secretsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sim.Close)
	return sim
}

// newDeployed returns a world with the gate of the deployed function, over a simulated Secret
// Manager.
func newDeployed(t *testing.T, secrets *secretsim.Sim) *world {
	t.Helper()
	return newWorld(t, options{gate: func(w *world) *trust.Gate {
		settings, err := config.Parse[struct{ Webhook config.Webhook }]([]string{
			"OPLEDGER_WEBHOOK_SECRET=" + stored, "SECRET_MANAGER_EMULATOR_HOST=" + secrets.Addr(), "GEMINI_API_KEY=k",
			"OPLEDGER_WEBHOOK_AUDIENCE=" + audience, "OPLEDGER_JWKS_URL=" + w.api.URL + geminisim.JWKSPath,
		})
		if err != nil {
			t.Fatal(err)
		}
		gate, err := cloud.Gate(context.WithoutCancel(t.Context()), settings.Webhook, w.clock.Now(), logging.New(w.log, "p"))
		if err != nil {
			t.Fatal(err)
		}
		return gate
	}})
}

// by delivers a body signed with one or several of the secrets.
func (w *world) by(id string, keys ...string) reply {
	w.Helper()
	body := []byte(event("batch.succeeded", "batches/"+id, t1))
	header := signed(keys[0], id, w.clock.Now(), body)
	for _, key := range keys[1:] {
		header["Webhook-Signature"][0] += " " + signed(key, id, w.clock.Now(), body)["Webhook-Signature"][0]
	}
	return w.request(http.MethodPost, header, bytes.NewReader(body))
}

func (w *world) wantTaken(r reply) {
	w.Helper()
	w.wantAccepted(r, "applied", "advanced", false)
}

func (w *world) wantRefused(r reply) {
	w.Helper()
	if r.Status != http.StatusUnauthorized {
		w.Errorf("%d %+v, want 401", r.Status, r.Body)
	}
}

// TestRotation: a rotation leaves no delivery unverified. A new version counts from the first
// delivery that it signed, after one fetch; the old one until it is disabled, and no longer than
// the time to live [G3].
func TestRotation(t *testing.T) {
	t.Parallel()
	secrets := newSecrets(t)
	old := secrets.Put(stored, secret, time.Now())
	w := newDeployed(t, secrets)
	lists := func(want int) {
		t.Helper()
		if got := secrets.Calls("ListSecretVersions"); got != want {
			t.Errorf("the versions were listed %d times, want %d", got, want)
		}
	}
	w.wantTaken(w.by("before", secret))
	w.clock.Advance(time.Minute)
	w.wantRefused(w.by("m1", other)) // not stored yet
	lists(2)
	secrets.Put(stored, other+"\n", time.Now()) // as echo stores it
	w.wantRefused(w.by("m1", other))            // within the gap nothing is fetched
	lists(2)
	w.clock.Advance(secretsGap)
	w.wantTaken(w.by("m1", other)) // the sender has delivered it again
	lists(3)
	w.wantTaken(w.by("old", secret))
	w.wantTaken(w.by("both", other, secret))
	w.wantTaken(w.by("both the other way", secret, other))
	w.wantTaken(w.by("one is strange", "whsec_enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6eno=", other))
	lists(3)

	secrets.SetDisabled(old)
	w.clock.Advance(secretsTTL - time.Second)
	w.wantTaken(w.by("still", secret))
	w.clock.Advance(time.Second)
	w.wantRefused(w.by("revoked", secret))
	lists(4) // what was just fetched is not fetched again for a forger
	w.wantTaken(w.by("after", other))
	w.wantTaken(w.by("both again", secret, other))
}

// TestFirstSecret: the first deployment comes before the webhook exists. Until the secret has a
// version, deliveries are answered 503. From then on they are accepted, without a restart [G3].
func TestFirstSecret(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*secretsim.Sim){
		"no secret":            func(*secretsim.Sim) {},
		"no version":           func(s *secretsim.Sim) { s.Make(stored) },
		"disabled alone":       func(s *secretsim.Sim) { s.SetDisabled(s.Put(stored, other, time.Now())) },
		"access denied":        func(s *secretsim.Sim) { s.Deny("secretmanager.versions.list") },
		"Secret Manager fails": func(s *secretsim.Sim) { s.Fail("ListSecretVersions", codes.Internal, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secrets := newSecrets(t)
			prepare(secrets)
			w := newDeployed(t, secrets)
			w.wantLog(map[string]any{"event": "auth", "outcome": "unverifiable", "severity": "WARNING"})
			w.unwritten(func() { w.want503(w.by("m1", secret), 1) })
			secrets.ClearFaults()
			secrets.Put(stored, secret, time.Now())
			w.clock.Advance(secretsGap)
			w.wantTaken(w.by("m1", secret))
		})
	}
}

// TestSecretManagerDown: known versions stay in use while Secret Manager is down, which is logged
// once.
func TestSecretManagerDown(t *testing.T) {
	t.Parallel()
	secrets := newSecrets(t)
	secrets.Put(stored, secret, time.Now())
	w := newDeployed(t, secrets)
	secrets.Fail("ListSecretVersions", codes.Internal, -1)
	for _, id := range []string{"a", "b"} {
		w.clock.Advance(secretsTTL)
		w.wantTaken(w.by(id, secret))
	}
	stale := 0
	for _, line := range w.logged() {
		if line["outcome"] == "stale-secrets" {
			stale++
		}
	}
	if stale != 1 {
		t.Errorf("said %d times", stale)
	}
	w.clock.Advance(2 * time.Hour)
	w.unwritten(func() { w.want503(w.by("c", secret), 1) })
	secrets.ClearFaults()
	w.clock.Advance(secretsGap)
	w.wantTaken(w.by("c", secret))
}

// TestMalformedVersion: a malformed version ends the start with its name and without its value. One
// that is added later is only logged.
func TestMalformedVersion(t *testing.T) {
	t.Parallel()
	secrets := newSecrets(t)
	secrets.Put(stored, secret, time.Now())
	w := newDeployed(t, secrets)
	bad := secrets.Put(stored, "whsec_hunter2", time.Now())
	w.clock.Advance(secretsTTL)
	w.wantTaken(w.by("later", secret))

	settings, err := config.Parse[struct{ Webhook config.Webhook }]([]string{
		"OPLEDGER_WEBHOOK_SECRET=" + stored, "SECRET_MANAGER_EMULATOR_HOST=" + secrets.Addr(),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = cloud.Gate(t.Context(), settings.Webhook, w.clock.Now(), slog.New(slog.DiscardHandler))
	if err == nil || !strings.HasPrefix(err.Error(), "OPLEDGER_WEBHOOK_SECRET: ") || !strings.Contains(err.Error(), bad) ||
		strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "/versions/1") {
		t.Errorf("%v, want an error about %s alone", err, bad)
	}
}
