// Package staging builds the staged functions as Google's Go buildpack does, and runs them as Cloud Run
// does: the staged package, the buildpack's own main, and the variables that a deployment sets.
package staging

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/test/harness"
)

// workDir and sourceDir outlive the tests, so that everything is staged and built once. What is built is in the one,
// what is staged in the other, which may be in memory: a thousand files are.
var workDir, sourceDir string

func TestMain(m *testing.M) {
	os.Exit(runMain(m))
}

func runMain(m *testing.M) (code int) {
	var err error
	if workDir, err = os.MkdirTemp("", "opledger-staging-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	harness.SpendMemory() // what is behind the folder of programs
	if sourceDir, err = os.MkdirTemp("", "opledger-staging-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	harness.AtOnce(8) // they wait for the go command, which waits for the disk
	code = harness.Main(m)
	if code == 0 {
		// OpenCensus, which Google's clients link, starts one goroutine for the life of the
		// process.
		err = goleak.Find(goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
	}
	if err = errors.Join(err, os.RemoveAll(workDir), os.RemoveAll(sourceDir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
