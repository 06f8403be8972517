package local

import (
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	harness.AtOnce(8) // they wait for the disk
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}
