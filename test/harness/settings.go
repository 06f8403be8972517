// Package harness is what the tests of several packages share: the official emulators, an outbox, a
// log that is read back, and a deployed function with bad settings.
//
// A test binary that uses an emulator has
//
//	func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
//
// Each emulator is started when a test first asks for it. Under Linux one serves all packages of a go
// test, and ends with that; elsewhere it is the test binary's own. Where FIRESTORE_EMULATOR_HOST or
// PUBSUB_EMULATOR_HOST is set, that one is used and left running. Where none can be had, the test is
// skipped and says what is missing; with OPLEDGER_REQUIRE_EMULATORS=1 it fails.
//
// It imports no client of Google Cloud, nor gRPC, which every test that needs a log or a program would
// then link: what does is in shared/ledger/emulator/dial, harness/meter and functiontest.
package harness

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/mutation/switchboard"
)

// BadSettings starts the test's own program as a deployed function, with settings of which several
// are wrong, and wants it to end at once with problems of just these variables. The program is the
// function because the function's init is in it.
func BadSettings(t *testing.T, target string, want ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(switchboard.Environ(),
		"FUNCTION_TARGET="+target, "PORT=http",
		"OPLEDGER_GRACE=soon", "OPLEDGER_TOLERANCE=soon", "OPLEDGER_EFFECT_ALLOW_PRIVATE=perhaps")
	printed, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v, want exit code 1; it printed %s", err, printed)
	}
	var line struct{ Problems []string }
	if err := json.Unmarshal(printed, &line); err != nil {
		t.Fatalf("not one line of JSON: %v in %s", err, printed)
	}
	var got []string
	for _, problem := range line.Problems {
		variable, _, _ := strings.Cut(problem, ":")
		got = append(got, variable)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("problems of %q, want of %q", got, want)
	}
}
