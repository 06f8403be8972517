package secret_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/secret"
	"github.com/opledger/opledger/shared/secret/secretsim"
)

const (
	full    = "projects/p/secrets/webhook"
	private = "whsec_the-one-that-must-not-be-shown"
)

var (
	name = secret.Name{Project: "p", ID: "webhook"}
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

// TestLazyAndClosed: the first call connects, an ended ctx is the error, and calls after Close
// fail.
func TestLazyAndClosed(t *testing.T) {
	t.Parallel()
	unused := secret.New(secret.Options{Emulator: "127.0.0.1:1"})
	if err := unused.Close(); err != nil {
		t.Error(err)
	}
	if _, err := unused.Enabled(t.Context(), name); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("%v", err)
	}
	_, client := start(t, secretsim.Config{}, time.Minute)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := client.Enabled(ended, name)
	wantError(t, err, context.Canceled)
}

// TestEnvironment: SECRET_MANAGER_EMULATOR_HOST is honoured, so that whole processes can be tested,
// and what was read is printed without its data. Not parallel, because it sets a variable.
func TestEnvironment(t *testing.T) {
	sim, _ := start(t, secretsim.Config{}, time.Minute)
	sim.Put(full, private, noon)
	t.Setenv("SECRET_MANAGER_EMULATOR_HOST", sim.Addr())
	client := secret.New(secret.Options{})
	got, err := client.Enabled(t.Context(), name)
	if err := errors.Join(err, client.Close()); err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	printed := fmt.Sprintf("%v %+v %#v %s %v", got, got[0], got[0], got[0], client)
	if strings.Contains(printed, private) {
		t.Errorf("printed %s", printed)
	}
}

// TestDebuggingTellsNoSecret: Google's client logs whole requests at the debug level, which ours
// switches off. The test runs itself again with that level, because the client reads it at the
// start.
func TestDebuggingTellsNoSecret(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^(TestAdd|TestLatest)$", "-test.v")
	cmd.Env = append(os.Environ(), "GOOGLE_SDK_GO_LOGGING_LEVEL=debug")
	printed, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(printed), "--- PASS: TestAdd") ||
		strings.Contains(string(printed), "api request") {
		t.Errorf("%v: %s", err, printed)
	}
}
