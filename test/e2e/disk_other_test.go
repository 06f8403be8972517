//go:build !linux

package e2e

import (
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// A disk is one that can be full. Only Linux has a small one for the asking.
type disk struct{ dir string }

func newDisk(t *testing.T) *disk {
	harness.Without(t, envDisk, "no disk is full in the soak: that takes Linux, and root")
	return nil
}

func (*disk) fill() {}
func (*disk) free() {}
