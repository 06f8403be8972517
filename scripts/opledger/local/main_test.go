package local

import (
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	harness.AtOnce(8) // they wait for whole runs of the job
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if code == 0 { // the worker is of a library that the functions bring
		if err := goleak.Find(goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")); err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}
