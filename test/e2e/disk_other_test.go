//go:build !linux

package e2e

import "testing"

// A disk is one that can be full. Only Linux has a small one for the asking.
type disk struct{ dir string }

func newDisk(t *testing.T) *disk {
	t.Log("no disk is full in this run: that takes Linux, and root")
	return nil
}

func (*disk) fill() {}
func (*disk) free() {}
