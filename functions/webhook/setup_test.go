package webhook_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/functions/webhook"
	"github.com/opledger/opledger/shared/secret/secretsim"
	"github.com/opledger/opledger/test/harness"
	"github.com/opledger/opledger/test/mutation/switchboard"
)

// TestBadSettings: the target reports all problems of its own settings, and none of other
// functions' settings, and does not start.
func TestBadSettings(t *testing.T) {
	t.Parallel()
	harness.BadSettings(t, "Webhook", "GOOGLE_CLOUD_PROJECT", "OPLEDGER_GRACE", "OPLEDGER_TOLERANCE", "OPLEDGER_TOPIC")
}

// start runs this program as the deployed function, up to the end of the function's start.
func start(t *testing.T, env ...string) (printed []byte, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(append(env, switchboard.Environ()...),
		"FUNCTION_TARGET=Webhook", "GOOGLE_CLOUD_PROJECT=p", "OPLEDGER_TOPIC=effects",
		"GORACE=atexit_sleep_ms=0",
		"FIRESTORE_EMULATOR_HOST=127.0.0.1:1", "PUBSUB_EMULATOR_HOST=127.0.0.1:1")
	return cmd.Output()
}

// TestStart: a revision whose secret is malformed does not start, and logs the version's name. One
// whose secret does not exist yet starts, because the first deployment comes before the webhook
// exists [G3]. They start at once: one that can start waits for a ledger that is not there.
func TestStart(t *testing.T) {
	t.Parallel()
	for what, check := range map[string]func(t *testing.T, secrets *secretsim.Sim, start func() ([]byte, error)){
		"no secret": func(t *testing.T, _ *secretsim.Sim, start func() ([]byte, error)) {
			if printed, err := start(); err != nil || !strings.Contains(string(printed), `"outcome":"unverifiable"`) {
				t.Errorf("%v, it printed %s", err, printed)
			}
		},
		"a good one": func(t *testing.T, secrets *secretsim.Sim, start func() ([]byte, error)) {
			secrets.Put(stored, secret, time.Now())
			if printed, err := start(); err != nil || strings.Contains(string(printed), "unverifiable") {
				t.Errorf("%v, it printed %s", err, printed)
			}
		},
		"a malformed one, which is disabled": func(t *testing.T, secrets *secretsim.Sim, start func() ([]byte, error)) {
			secrets.Put(stored, secret, time.Now())
			bad := secrets.Put(stored, "whsec_hunter2", time.Now())
			printed, err := start()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Fatalf("%v, want exit code 1; it printed %s", err, printed)
			}
			var line struct {
				Severity string
				Problems []string
			}
			if err := json.Unmarshal(printed, &line); err != nil {
				t.Fatalf("not one line of JSON: %v in %s", err, printed)
			}
			if line.Severity != "ERROR" || len(line.Problems) != 1 || !strings.Contains(line.Problems[0], bad) ||
				!strings.Contains(line.Problems[0], "OPLEDGER_WEBHOOK_SECRET") || strings.Contains(string(printed), "hunter2") {
				t.Errorf("it printed %s", printed)
			}
			secrets.SetDisabled(bad)
			if printed, err := start(); err != nil {
				t.Errorf("after it was disabled: %v, it printed %s", err, printed)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			secrets := newSecrets(t)
			check(t, secrets, func() ([]byte, error) {
				return start(t, "OPLEDGER_WEBHOOK_SECRET="+stored, "SECRET_MANAGER_EMULATOR_HOST="+secrets.Addr())
			})
		})
	}
}

// TestNotBuilt: without a ledger there is no function.
func TestNotBuilt(t *testing.T) {
	webhook.Build.Unopened(t, "OPLEDGER_WEBHOOK_SECRET="+secret)
}
