package root_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
	"github.com/opledger/opledger/test/harness"
)

// binDir outlives every single test, so that the binary is built once.
var binDir string

// built makes the binary: exit codes and signals are part of its contract.
var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binDir, "opledger")
	return path, harness.Build("", "github.com/opledger/opledger/scripts/opledger", path)
})

func build(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestExitCodes: 0 on success, 1 on failure, 2 on wrong use; an error is one line on stderr.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	binary := build(t)
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	for _, c := range []struct {
		code int
		args []string
	}{
		{terminal.ExitDone, []string{"--help"}},
		{terminal.ExitDone, []string{"list", "--store", f.Store()}},
		{terminal.ExitDone, []string{"local", "--operations", "3", "--faults", "none", "--speed", "1000", "--json"}},
		{terminal.ExitFailed, []string{"show", "batches/b", "--store", f.Store()}},
		{terminal.ExitUnread, []string{"list"}}, // there is no opledger.db here
		{terminal.ExitUsage, []string{"list", "--state", "DONE"}},
		{terminal.ExitUsage, []string{"nonsense"}},
		{terminal.ExitUsage, []string{"serve"}}, // without GEMINI_API_KEY
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		command := exec.CommandContext(ctx, binary, c.args...)
		command.Dir, command.Env = t.TempDir(), []string{"TMPDIR=" + t.TempDir()}
		var out, stderr bytes.Buffer
		command.Stdout, command.Stderr = &out, &stderr
		_ = command.Run() // the code says it
		cancel()
		if code := command.ProcessState.ExitCode(); code != c.code {
			t.Errorf("%v: exit code %d, want %d\n%s%s", c.args, code, c.code, &out, &stderr)
		}
		if s := (commandtest.Said{Code: c.code, Out: out.String(), Err: stderr.String()}); c.code != terminal.ExitDone {
			s.Complaint(t)
		}
		if left, err := os.ReadDir(command.Dir); err != nil || len(left) > 0 {
			t.Errorf("%v leaves %v behind, %v", c.args, left, err)
		}
	}
}

// TestEndedLocal: a run that a signal ends, or the loss of its reader, leaves no file behind. Of a
// signal the exit code is 1 and a line says that nothing was audited; of the other it is that of
// SIGPIPE, and nothing is said.
func TestEndedLocal(t *testing.T) {
	t.Parallel()
	// Under nohup this process ignores SIGHUP, and the programs that it starts would, too.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangup) })
	for name, c := range map[string]struct {
		end  func(*exec.Cmd, io.Closer) error
		code int
	}{
		"Ctrl-C":    {func(c *exec.Cmd, _ io.Closer) error { return c.Process.Signal(os.Interrupt) }, terminal.ExitFailed},
		"SIGTERM":   {func(c *exec.Cmd, _ io.Closer) error { return c.Process.Signal(syscall.SIGTERM) }, terminal.ExitFailed},
		"SIGHUP":    {func(c *exec.Cmd, _ io.Closer) error { return c.Process.Signal(syscall.SIGHUP) }, terminal.ExitFailed},
		"| head -1": {func(_ *exec.Cmd, stdout io.Closer) error { return stdout.Close() }, terminal.ExitPipe},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			temp, program := t.TempDir(), build(t) // a first build takes longer than the job
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			command := exec.CommandContext(ctx, program, "local", "--speed", "20")
			command.Env = []string{"TMPDIR=" + temp}
			var stderr bytes.Buffer
			command.Stderr = &stderr
			stdout, err := command.StdoutPipe()
			if err == nil {
				err = command.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stdout.Read(make([]byte, 1)); err != nil { // it has begun
				t.Error(err)
			}
			if err := c.end(command, stdout); err != nil {
				t.Error(err)
			}
			_ = command.Wait() // the code says it
			if code := command.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			s := commandtest.Said{Code: c.code, Err: stderr.String()}
			if c.code == terminal.ExitPipe {
				if s.Err != "" {
					t.Errorf("stderr %q", s.Err)
				}
			} else if complaint := s.Complaint(t); !strings.HasPrefix(complaint, "interrupted before the audit") {
				t.Error(complaint)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("it leaves %v behind, %v", left, err)
			}
		})
	}
}
