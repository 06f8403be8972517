package cloud_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/secret"
	"github.com/opledger/opledger/shared/secret/secretsim"
)

// TestResults: results are fetched from the address in the settings with the key that they name. No
// key is read where no effect runs once per item.
func TestResults(t *testing.T) {
	t.Parallel()
	const full = "projects/p/secrets/key"
	sim, err := secretsim.Start(secretsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	var key string
	gemini := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key = r.Header.Get("X-Goog-Api-Key")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer gemini.Close()
	settings := config.Results{Gemini: config.Gemini{APIKeySecret: full, SecretEmulator: sim.Addr(), BaseURL: gemini.URL}}

	if client, err := cloud.Results(t.Context(), settings, nil); client != nil || err != nil {
		t.Errorf("not wanted: %v, %v", client, err)
	}
	settings.Wanted = true
	if client, err := cloud.Results(t.Context(), settings, nil); client != nil || !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("no secret: %v, %v", client, err)
	}
	sim.Put(full, "hunter2\n", time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	client, err := cloud.Results(t.Context(), settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Open(t.Context(), "batches/a", operation.Result{}); err == nil || key != "hunter2" {
		t.Errorf("asked with %q, %v", key, err)
	}
}
