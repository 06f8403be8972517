package examples

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/test/harness"
)

// patience bounds a wait for another process. It is reached only where something hangs.
const patience = 5 * time.Minute

// A process is a program that goes on while the test does. Its lines are kept.
type process struct {
	t       *testing.T
	command *exec.Cmd

	mu    sync.Mutex
	lines []string
	more  chan struct{} // closed and replaced with each line, and at the end
}

// start starts a program in a folder. The test ends it.
func start(t *testing.T, dir string, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{t: t, command: exec.Command(name, args...), more: make(chan struct{})}
	p.command.Dir, p.command.Env = dir, environ(env)
	read, write := io.Pipe()
	p.command.Stdout, p.command.Stderr = write, write
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(read); lines.Scan(); {
			p.add(lines.Text())
		}
	}()
	t.Cleanup(func() {
		p.stop()
		_ = write.Close()
		<-ended
		if t.Failed() {
			t.Logf("%s said\n%s", name, strings.Join(p.said(), "\n"))
		}
	})
	return p
}

func (p *process) add(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, line)
	close(p.more)
	p.more = make(chan struct{})
}

func (p *process) said() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines
}

// stop kills the process, if it is not over.
func (p *process) stop() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}

// await waits for a line that has a text in it, and returns what follows the text.
func (p *process) await(text string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	for {
		p.mu.Lock()
		lines, more := p.lines, p.more
		p.mu.Unlock()
		for _, line := range lines {
			if _, after, found := strings.Cut(line, text); found {
				return after
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			p.t.Fatalf("%s did not say %q", p.command.Path, text)
		}
	}
}

// run runs a program to its end, and returns what it said and whether its exit code was 0.
func run(t *testing.T, dir string, env []string, name string, args ...string) (string, bool) {
	t.Helper()
	out, code := exitOf(t, dir, env, name, args...)
	return out, code == 0
}

// exitOf runs a program to its end, and returns what it said and its exit code.
func exitOf(t *testing.T, dir string, env []string, name string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Soak[time.Duration](t, 1, 6, 6)*patience)
	defer cancel()
	if socket, forks := strings.CutPrefix(name, forked); forks {
		out, code, err := fork(ctx, socket, asked{dir, environ(env), args})
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		return out, code
	}
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Env = dir, environ(env)
	out, err := command.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("%s %q did not end, and said\n%s", name, args, out)
	}
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return string(out), command.ProcessState.ExitCode()
}

// environ returns the variables of this process, without those that would change what a program
// does, and with those given.
func environ(set []string) []string {
	var kept []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "OPLEDGER_") && !strings.HasPrefix(name, "GEMINI_") &&
			!strings.HasPrefix(name, "GOOGLE_") {
			kept = append(kept, variable)
		}
	}
	// Python compiles a file once for all processes: ours into __pycache__, which git ignores. In a folder of the test's
	// own it would compile its standard library, too.
	kept = append(kept, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1", "PYTHONPATH="+packageDir(),
		"PYTHONDONTWRITEBYTECODE=", "PYTHONPYCACHEPREFIX=",
		"GOGC=400") // of opledger: a quarter of a start is that it collects garbage
	return append(kept, set...)
}
