package harness_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestImportsNoClient: what imports gRPC takes most test binaries that use harness several times as long
// to link, at each run.
func TestImportsNoClient(t *testing.T) {
	t.Parallel()
	imported, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(imported))
	if !slices.Contains(packages, "github.com/opledger/opledger/shared/ledger/emulator") {
		t.Errorf("harness is said to import only %d packages, without the emulators", len(packages))
	}
	if slices.Contains(packages, "google.golang.org/grpc") {
		t.Error("harness imports gRPC")
	}
}
