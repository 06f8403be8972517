package main

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
	f := newFile(t)
	f.register("batches/a")
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitDone, []string{"--help"}},
		{exitDone, []string{"list", "--store", f.store()}},
		{exitDone, []string{"local", "--operations", "3", "--faults", "none", "--speed", "1000", "--json"}},
		{exitFailed, []string{"show", "batches/b", "--store", f.store()}},
		{exitUnread, []string{"list"}}, // there is no opledger.db here
		{exitUsage, []string{"list", "--state", "DONE"}},
		{exitUsage, []string{"nonsense"}},
		{exitUsage, []string{"serve"}}, // without GEMINI_API_KEY
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
		if s := (said{c.code, out.String(), stderr.String()}); c.code != exitDone {
			s.complaint(t)
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
		"Ctrl-C":    {func(c *exec.Cmd, _ io.Closer) error { return c.Process.Signal(os.Interrupt) }, exitFailed},
		"SIGTERM":   {func(c *exec.Cmd, _ io.Closer) error { return c.Process.Signal(syscall.SIGTERM) }, exitFailed},
		"SIGHUP":    {func(c *exec.Cmd, _ io.Closer) error { return c.Process.Signal(syscall.SIGHUP) }, exitFailed},
		"| head -1": {func(_ *exec.Cmd, stdout io.Closer) error { return stdout.Close() }, exitPipe},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			command := exec.CommandContext(ctx, build(t), "local", "--speed", "20")
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
			s := said{c.code, "", stderr.String()}
			if c.code == exitPipe {
				if s.err != "" {
					t.Errorf("stderr %q", s.err)
				}
			} else if complaint := s.complaint(t); !strings.HasPrefix(complaint, "interrupted before the end") {
				t.Error(complaint)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("it leaves %v behind, %v", left, err)
			}
		})
	}
}
