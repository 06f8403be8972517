package emulator

import (
	"os/exec"
	"syscall"
)

// bindToParent makes the kernel kill the child when this process dies, however it dies. It keeps a
// Ctrl-C at the terminal from the child: the process that started the emulator stops it, after
// everything that uses it.
func bindToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
