//go:build !linux

package sqlite

import (
	"os"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// asReader calls do with the rights to files of a user who is not root, whom no mode keeps out.
func asReader(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() == 0 {
		harness.Missing(t, "no mode keeps root out here, and only Linux lets a thread be another user: run it as one")
	}
	do()
}
