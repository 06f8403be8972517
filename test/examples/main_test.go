// Package examples runs scripts/examples as their users do: against opledger serve with a simulated
// Gemini, each program a process of its own.
package examples

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

const root = "../.."

// binDir outlives every single test, so that each binary is built once.
var binDir string

func TestMain(m *testing.M) {
	harness.AtOnce(8) // they wait for other processes
	var err error
	if binDir, err = os.MkdirTemp("", "opledger-examples-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(binDir)
	os.Exit(code)
}

var (
	// opledger has the example's handler in functions/effects/custom.go: one binary less to link.
	opledger = binary("opledger", "./scripts/opledger", "-overlay", "scripts/examples/go/invoice/overlay.json")
	goSubmit = binary("submit", "./scripts/examples/go/submit")
)

// binary returns what builds a program of the repository, once.
func binary(name, room string, flags ...string) func(*testing.T) string {
	build := sync.OnceValues(func() (string, error) {
		path := filepath.Join(binDir, name)
		return path, harness.Build(root, room, path, flags...)
	})
	return func(t *testing.T) string {
		t.Helper()
		path, err := build()
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
}
