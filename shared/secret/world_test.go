package secret_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/secret"
	"github.com/opledger/opledger/shared/secret/secretsim"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// start returns a simulator and a client for it; a call ends after the timeout.
func start(t *testing.T, config secretsim.Config, timeout time.Duration) (*secretsim.Sim, *secret.Client) {
	t.Helper()
	sim, err := secretsim.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	client := secret.New(secret.Options{Emulator: sim.Addr(), Timeout: timeout})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		sim.Close()
	})
	return sim, client
}

// wantError checks an error and its text, and that it shows no secret.
func wantError(t *testing.T, err, is error, says ...string) {
	t.Helper()
	if err == nil || is != nil && !errors.Is(err, is) {
		t.Fatalf("%v, want %v", err, is)
	}
	for _, words := range says {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%q does not say %q", err, words)
		}
	}
	if strings.Contains(err.Error(), private) {
		t.Errorf("the secret is in %q", err)
	}
}
