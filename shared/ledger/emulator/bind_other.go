//go:build !linux

package emulator

import "os/exec"

// bindToParent does nothing here: only Linux can tie a child's life to its parent's. A Ctrl-C
// reaches both.
func bindToParent(*exec.Cmd) {}
