// Package e2e runs the built binary as its users do: real processes on one ledger, a simulated
// Gemini that misbehaves, and a receiver of effects that keeps count. What a process does is only
// seen from outside: in its answers, its log, the ledger, and what reaches the receiver.
package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/test/harness"
)

// binDir outlives every single test, so that the binary is built once.
var binDir string

func TestMain(m *testing.M) {
	if kind := os.Getenv(submissionVariable); kind != "" {
		os.Exit(runSubmitter(kind))
	}
	os.Exit(runMain(m))
}

func runMain(m *testing.M) (code int) {
	var err error
	if binDir, err = os.MkdirTemp("", "opledger-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	harness.AtOnce(20)    // they wait for leases and for other processes, the longest for most of a minute
	harness.SpendMemory() // what is behind the folder of programs
	code = harness.Main(m)
	if code == 0 {
		// OpenCensus, which Google's clients link, starts one goroutine for the life of the process.
		err = goleak.Find(goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
	}
	if err = errors.Join(err, os.RemoveAll(binDir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// raceOptions, in a program's environment, let a race end it at once, so that its end need not wait
// for reports.
const raceOptions = "GORACE=halt_on_error=1 atexit_sleep_ms=0"

// asTested are the flags that give a program the race detector where its test has it.
func asTested() []string {
	if raceEnabled {
		return []string{"-race"}
	}
	return nil
}

var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binDir, "opledger")
	return path, harness.Build("", module+"scripts/opledger", path, asTested()...)
})

// binary returns the path of the built opledger.
func binary(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
