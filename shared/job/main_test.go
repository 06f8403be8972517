package job_test

import (
	"testing"

	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	harness.SpendMemory() // the longest lines have 32 MiB
	m.Run()
}
