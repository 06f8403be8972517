package root_test

import (
	"os"
	"testing"

	"github.com/opledger/opledger/test/commandtest"
)

func TestMain(m *testing.M) { os.Exit(runMain(m)) }

func runMain(m *testing.M) (code int) {
	var err error
	if binDir, err = os.MkdirTemp("", "opledger-command-"); err == nil {
		code = commandtest.Main(m)
		err = os.RemoveAll(binDir)
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		return 1
	}
	return code
}
