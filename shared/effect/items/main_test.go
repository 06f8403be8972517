package items_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	harness.AtOnce(4) // some wait for a pause before a commit is repeated
	harness.SpendMemory()
	goleak.VerifyTestMain(m)
}
