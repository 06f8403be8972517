package infra_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	if os.Getenv("FUNCTION_TARGET") != "" {
		serveOnce() // the deployed program, for a child process
	}
	var err error
	if programDir, err = os.MkdirTemp("", "opledger-infra-"); err != nil {
		panic(err)
	}
	harness.AtOnce(8)     // they wait for Prometheus, gcloud and the blocks of playbooks
	harness.SpendMemory() // what is behind the folder of the program
	// A gate that reads Secret Manager is made for a process's whole life.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("google.golang.org/grpc/internal/grpcsync.(*CallbackSerializer).run"),
		goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"), // a dependency starts it
		goleak.Cleanup(func(code int) {
			_ = os.RemoveAll(programDir) // what is left is in the folder for what is temporary
			os.Exit(code)
		}))
}
