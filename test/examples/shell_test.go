package examples

import (
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// TestShell: the submitter with curl, which has batches alone.
func TestShell(t *testing.T) {
	t.Parallel()
	shell := harness.Program(t, "sh", "the example with curl is not run")
	harness.Program(t, "curl", "the example with curl is not run")
	s := submitter{
		dir: root + "/scripts/examples/shell", command: []string{shell, "submit.sh"}, kinds: []string{"batch"},
		unanswered: "503", refused: "400",
	}
	s.submitsOnce(t, newWorld(t, nil))
	s.neverRepeats(t)
}
