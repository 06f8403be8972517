package steps_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	harness.SpendMemory()
	code := harness.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
