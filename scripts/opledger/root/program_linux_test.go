package root_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
	"github.com/opledger/opledger/test/harness"
)

// TestNoUser: in a container whose user has no name, a command that records who asked for it wants --by; a dry run,
// which records nothing, does not.
func TestNoUser(t *testing.T) {
	t.Parallel()
	binary := build(t)
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	run := func(line string) (int, string) {
		command := exec.Command(binary, append(strings.Fields(line), "--store", f.Store())...)
		command.Dir, command.Env = t.TempDir(), []string{"TMPDIR=" + t.TempDir()}
		command.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 54321, HostID: os.Getuid(), Size: 1}},
		}
		said, err := command.CombinedOutput()
		if command.ProcessState == nil {
			harness.Missing(t, "no user namespace can be made here, in which a user has no name: "+err.Error())
		}
		return command.ProcessState.ExitCode(), string(said)
	}
	code, said := run("abandon batches/a --reason lost")
	if code != terminal.ExitFailed || !strings.Contains(said, "name one with --by") {
		t.Errorf("a decision: %d, %s", code, said)
	}
	if code, said := run("abandon batches/a --reason lost --by ops"); code != terminal.ExitDone {
		t.Errorf("a decision of ops: %d, %s", code, said)
	}
	for _, line := range []string{"waive --receiver hooks.example --dry-run", "replay --dead --dry-run"} {
		if code, said := run(line); code != terminal.ExitDone {
			t.Errorf("%s: %d, %s", line, code, said)
		}
	}
}
