package files_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/storage"
	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	harness.SpendMemory()
	goleak.VerifyTestMain(m)
}

// folder returns a job storage that is empty.
func folder(t *testing.T) storage.Storage {
	t.Helper()
	s, err := storage.Open(filepath.Join(t.TempDir(), "jobs"), "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
