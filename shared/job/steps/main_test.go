package steps_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	harness.SpendMemory()
	goleak.VerifyTestMain(m)
}
