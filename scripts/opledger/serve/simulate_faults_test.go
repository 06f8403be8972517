package serve_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestSimulateFaultRefused: each thing that is wrong with a fault is said before anything begins.
func TestSimulateFaultRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ fault, want string }{
		{"expire=1", "the names are failed, cancelled, expired"},
		{"expired", "is not name=share"},
		{"expired=2", "a share from 0 to 1"},
		{"batches/a:expired=1", "there must be a job, such as jobs/nightly"},
		{"jobs/a b:expired=1", "there must be a job, such as jobs/nightly"},
	} {
		s := commandtest.Run(t, nil, "serve", "--simulate", "--fault", tc.fault).Want(t, terminal.ExitUsage)
		if got := s.Complaint(t); !strings.HasPrefix(got, "--fault: ") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s", tc.fault, got)
		}
	}
	s := commandtest.Run(t, nil, "serve", "--fault", "expired=1").Want(t, terminal.ExitUsage)
	if got := s.Complaint(t); !strings.Contains(got, "it is for --simulate") {
		t.Error(got)
	}
}
