package cloud_test

import (
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/secret"
	"github.com/opledger/opledger/shared/secret/secretsim"
)

// TestReconcilerSecrets: the secrets that Gemini's are compared with are those of the settings and every enabled
// version of those that they name, read again at each pass; without any setting they are not known [W1].
func TestReconcilerSecrets(t *testing.T) {
	t.Parallel()
	const otherSecret = "whsec_b3RoZXJvdGhlcm90aGVyb3RoZXJvdGhlcm90aGVyb3Q="
	sim, err := secretsim.Start(secretsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	sim.Make("projects/p/secrets/empty")
	sim.Put("projects/p/secrets/one", goodSecret+"\n", time.Now())
	for setting, want := range map[string][]string{
		"":                                       nil,
		goodSecret:                               {goodSecret},
		"projects/p/secrets/one":                 {goodSecret},
		"projects/p/secrets/empty":               nil,
		goodSecret + " projects/p/secrets/empty": {goodSecret},
	} {
		settings, err := config.Parse[cloud.Reconcile]([]string{
			"OPLEDGER_WEBHOOK_URL=https://webhook.example", "OPLEDGER_WEBHOOK_SECRET=" + setting, "GEMINI_API_KEY=k",
			"SECRET_MANAGER_EMULATOR_HOST=" + sim.Addr(),
		})
		if err != nil {
			t.Fatal(err)
		}
		o, err := cloud.Reconciler(t.Context(), settings, slog.New(slog.DiscardHandler))
		if err != nil || (o.Endpoint.Secrets != nil) != (setting != "") {
			t.Fatalf("%q: %+v, %v", setting, o.Endpoint, err)
		}
		if setting == "" {
			continue
		}
		for range 2 { // of two passes
			if got, err := o.Endpoint.Secrets(t.Context()); err != nil || !slices.Equal(got, want) {
				t.Errorf("%d secrets, %v, want %d", len(got), err, len(want))
			}
			if setting == "projects/p/secrets/one" { // it is rotated
				sim.Put(setting, otherSecret, time.Now())
				want = []string{otherSecret, goodSecret}
			}
		}
	}
}

// TestReconcilerEndpoint: the webhook is checked where the settings ask for a static one. It counts
// as created once a version of its signing secret exists, which is found out without reading the
// version [R4].
func TestReconcilerEndpoint(t *testing.T) {
	t.Parallel()
	sim, err := secretsim.Start(secretsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	sim.Make("projects/p/secrets/empty")
	sim.Put("projects/p/secrets/one", goodSecret, time.Now())
	sim.Deny("secretmanager.versions.access")
	const url = "OPLEDGER_WEBHOOK_URL=https://webhook.example"
	for _, c := range []struct {
		about         string
		set           []string
		looked, there bool
	}{
		{"no address", nil, true, false},
		{"no webhook", []string{url, "OPLEDGER_WEBHOOK=none"}, false, false},
		{"dynamic only", []string{url, "OPLEDGER_WEBHOOK=dynamic"}, false, false},
		{"no secret is named", []string{url}, true, false},
		{"the secret is not there", []string{url, "OPLEDGER_WEBHOOK_SECRET=projects/p/secrets/none"}, true, false},
		{"the secret is empty", []string{url, "OPLEDGER_WEBHOOK_SECRET=projects/p/secrets/empty"}, true, false},
		{"the secret is stored", []string{url, "OPLEDGER_WEBHOOK_SECRET=projects/p/secrets/empty projects/p/secrets/one"},
			true, true},
		{"the secret stands in the settings", []string{url, "OPLEDGER_WEBHOOK_SECRET=" + goodSecret}, true, true},
	} {
		settings, err := config.Parse[cloud.Reconcile](append(c.set, "GEMINI_API_KEY=k",
			"SECRET_MANAGER_EMULATOR_HOST="+sim.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		o, err := cloud.Reconciler(t.Context(), settings, slog.New(slog.DiscardHandler))
		if err != nil || (o.Endpoint != nil) != c.looked {
			t.Errorf("%s: %+v, %v", c.about, o.Endpoint, err)
			continue
		}
		if o.Endpoint == nil {
			continue
		}
		if there, err := o.Endpoint.Created(t.Context()); err != nil || there != c.there {
			t.Errorf("%s: created %v, %v, want %v", c.about, there, err, c.there)
		}
	}

	sim.Deny("secretmanager.versions.list")
	settings, err := config.Parse[cloud.Reconcile]([]string{
		url, "OPLEDGER_WEBHOOK_SECRET=projects/p/secrets/one", "GEMINI_API_KEY=k",
		"SECRET_MANAGER_EMULATOR_HOST=" + sim.Addr(),
	})
	if err != nil {
		t.Fatal(err)
	}
	o, err := cloud.Reconciler(t.Context(), settings, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Endpoint.Created(t.Context()); !errors.Is(err, secret.ErrDenied) {
		t.Errorf("%v, want %v", err, secret.ErrDenied)
	}
}
