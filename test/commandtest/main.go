package commandtest

import (
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/test/harness"
)

// Main runs the tests of a room's commands: at once, because they wait for whole runs of the job. It returns
// what to exit with: a goroutine that is left is a failure.
func Main(m *testing.M) int {
	harness.AtOnce(8)
	harness.SpendMemory()
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if code == 0 { // the worker is of a library that the Firestore client brings
		if err := goleak.Find(goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")); err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			return 1
		}
	}
	return code
}
