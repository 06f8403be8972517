package cloud_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/secret/secretsim"
	"github.com/opledger/opledger/test/harness"
)

const (
	goodSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	inManager  = "projects/p/secrets/webhook"
)

// TestGate: a gate is built from the settings, and printing it shows which kinds of proof it
// accepts and no secret. A malformed version is an error at the start. A secret that cannot be read
// is only logged [G3].
func TestGate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name     string
		set      []string
		versions []string // in Secret Manager, under inManager
		want     string   // the gate
		says     string   // the error
		logs     string
	}{
		{"nothing", nil, nil, "static false, dynamic false", "", ""},
		{"a secret", []string{"OPLEDGER_WEBHOOK_SECRET=" + goodSecret}, nil, "static true, dynamic false", "", ""},
		{"an audience", []string{"OPLEDGER_WEBHOOK_AUDIENCE=a", "GEMINI_API_KEY=k"}, nil, "static false, dynamic true", "",
			""},
		{"a stored one", []string{"OPLEDGER_WEBHOOK_SECRET=" + inManager}, []string{goodSecret + "\n"},
			"static true, dynamic false", "", ""},
		{"none stored yet", []string{"OPLEDGER_WEBHOOK_SECRET=" + inManager}, []string{}, "static true, dynamic false", "",
			"no webhook secret"},
		{"no such secret", []string{"OPLEDGER_WEBHOOK_SECRET=" + inManager}, nil, "static true, dynamic false", "",
			"is not there"},
		{"one of each, and the stored one is not there",
			[]string{"OPLEDGER_WEBHOOK_SECRET=" + goodSecret + " " + inManager}, []string{},
			"static true, dynamic false", "", ""},
		{"a malformed version", []string{"OPLEDGER_WEBHOOK_SECRET=" + inManager},
			[]string{goodSecret, "hunter2", "whsec_aGk="}, "",
			"versions/2: webhook secret is malformed", ""},
		{"only a malformed version", []string{"OPLEDGER_WEBHOOK_SECRET=" + inManager}, []string{"hunter2"}, "",
			"versions/1: ", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sim, err := secretsim.Start(secretsim.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer sim.Close()
			if c.versions != nil {
				sim.Make(inManager)
			}
			for _, version := range c.versions {
				sim.Put(inManager, version, now)
			}
			settings, err := config.Parse[struct{ Webhook config.Webhook }](append(c.set,
				"SECRET_MANAGER_EMULATOR_HOST="+sim.Addr()))
			if err != nil {
				t.Fatal(err)
			}
			log := &harness.Log{}
			gate, err := cloud.Gate(t.Context(), settings.Webhook, now, slog.New(slog.NewJSONHandler(log, nil)))
			if (err == nil) != (c.says == "") || err != nil && (!errors.Is(err, gemini.ErrSecret) ||
				!strings.Contains(err.Error(), c.says) ||
				!strings.HasPrefix(err.Error(), "OPLEDGER_WEBHOOK_SECRET: ") || strings.Contains(err.Error(), "hunter2")) {
				t.Fatalf("%v, want %q", err, c.says)
			}
			if err == nil && !strings.Contains(gate.String(), c.want) {
				t.Errorf("%v, want %s", gate, c.want)
			}
			lines := log.Drain(t)
			if (len(lines) > 0) != (c.logs != "") || c.logs != "" && !strings.Contains(fmt.Sprint(lines[0]["error"]), c.logs) {
				t.Errorf("logged %v, want %q", lines, c.logs)
			}
		})
	}
}

// TestGateOfSeveralVersions: each malformed version is named.
func TestGateOfSeveralVersions(t *testing.T) {
	t.Parallel()
	sim, err := secretsim.Start(secretsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	for _, version := range []string{"hunter2", goodSecret, ""} {
		sim.Put(inManager, version, time.Now())
	}
	settings, err := config.Parse[struct{ Webhook config.Webhook }]([]string{
		"OPLEDGER_WEBHOOK_SECRET=" + inManager, "SECRET_MANAGER_EMULATOR_HOST=" + sim.Addr(),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = cloud.Gate(t.Context(), settings.Webhook, time.Now(), slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "/versions/1: ") ||
		!strings.Contains(err.Error(), "/versions/3: ") || strings.Contains(err.Error(), "/versions/2") {
		t.Errorf("%v, want it to name versions 1 and 3", err)
	}
}
