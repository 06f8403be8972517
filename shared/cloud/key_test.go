package cloud_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/secret"
	"github.com/opledger/opledger/shared/secret/secretsim"
)

func TestMain(m *testing.M) {
	// Gates that read Secret Manager are made for a process's whole life.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("google.golang.org/grpc/internal/grpcsync.(*CallbackSerializer).run"))
}

// TestGeminiKey: the key is in the settings, or the last version of its secret. No error repeats it.
func TestGeminiKey(t *testing.T) {
	t.Parallel()
	const full = "projects/p/secrets/key"
	sim, err := secretsim.Start(secretsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	stored := config.Gemini{APIKeySecret: full, SecretEmulator: sim.Addr()}

	if key, err := cloud.GeminiKey(t.Context(), config.Gemini{APIKey: " k\n"}); err != nil || key != "k" {
		t.Errorf("%q, %v", key, err)
	}
	wantError := func(is error, says ...string) {
		t.Helper()
		key, err := cloud.GeminiKey(t.Context(), stored)
		if key != "" || err == nil || is != nil && !errors.Is(err, is) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q, %v, want %v", key, err, is)
			return
		}
		for _, words := range append(says, "OPLEDGER_GEMINI_API_KEY_SECRET: ") {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%q does not say %q", err, words)
			}
		}
	}
	wantError(secret.ErrNotFound, full)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	sim.Put(full, "hunter1\n", at)
	last := sim.Put(full, "hunter2\n", at.Add(time.Hour))
	if key, err := cloud.GeminiKey(t.Context(), stored); err != nil || key != "hunter2" {
		t.Errorf("%q, %v", key, err)
	}
	sim.SetDisabled(last)
	wantError(secret.ErrNotEnabled, full)
	sim.Put(full, " \n", at.Add(2*time.Hour))
	wantError(nil, "is empty")
	sim.Deny("secretmanager.versions.access")
	wantError(secret.ErrDenied, "roles/secretmanager.secretAccessor")
	stored.APIKeySecret = "key"
	wantError(nil, "projects/PROJECT/secrets/SECRET")
}
