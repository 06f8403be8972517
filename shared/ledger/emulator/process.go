package emulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startTimeout = 2 * time.Minute // they need 1 to 2 s, many times that on a loaded machine
	stopTimeout  = 5 * time.Second // they need 0.3 s after SIGTERM
)

// errEnded: the emulator does not listen, most likely because its port was in use. That of Pub/Sub
// stays alive then.
var errEnded = errors.New("it ended at once, or could not listen")

// A Process is a running emulator.
type Process struct {
	name   string
	addr   string
	cmd    *exec.Cmd
	output *head
	exited chan struct{}
}

// run starts a command as a child that dies with this process. The child writes the text of ready when
// it listens. ended is called when it has ended, or was not started.
func run(name, addr, ready string, command []string, ended func()) (*Process, error) {
	p := &Process{name: name, addr: addr, output: newHead(ready), exited: make(chan struct{})}
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.WaitDelay = stopTimeout
	bindToParent(p.cmd)
	started := make(chan error, 1)
	go func() {
		// Linux sends the parent-death signal when the *thread* ends that started the child. So
		// this goroutine keeps its thread while the child lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.exited)
		defer ended()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // the error is of no use: Stop ends the process by a signal
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Addr returns the host and port that the emulator listens on, for FIRESTORE_EMULATOR_HOST and
// PUBSUB_EMULATOR_HOST.
func (p *Process) Addr() string { return p.addr }

// Stop ends the emulator, by force after 5 s, and returns when it is gone. Stopping twice is
// harmless.
func (p *Process) Stop() {
	// An error means that it has ended already.
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		_ = p.cmd.Process.Kill()
	}
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// ready waits until the emulator says that it listens. What answers at its port may be another
// program.
func (p *Process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("it is not ready after %v", startTimeout))
	defer cancel()
	select {
	case <-p.output.ready:
		return nil
	case <-p.output.failed:
		return fmt.Errorf("%w: %s", errEnded, p.output)
	case <-p.exited:
		return fmt.Errorf("%w: %s", errEnded, p.output)
	case <-ctx.Done():
		return fmt.Errorf("waiting for %s: %w: %s", p.name, context.Cause(ctx), p.output)
	}
}

// A head keeps the beginning of what is written to it, which tells why an emulator did not start,
// and drops the rest: the Firestore emulator writes a stack trace for every refused commit, 40 MB
// for a few thousand of them.
type head struct {
	word   string        // what the emulator writes when it listens
	ready  chan struct{} // closed when it has written that
	failed chan struct{} // closed when it has written that it cannot listen

	mu   sync.Mutex
	text []byte
}

// headSize is many times what they write before they listen, and errorSize what an error holds of it.
const headSize, errorSize = 64 << 10, 4 << 10

func newHead(word string) *head {
	return &head{word: word, ready: make(chan struct{}), failed: make(chan struct{})}
}

// Write never fails.
func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(h.text)
	h.text = append(h.text, p[:min(len(p), headSize-before)]...)
	announce := func(word string, said chan struct{}) {
		if !bytes.Contains(h.text[:before], []byte(word)) && bytes.Contains(h.text, []byte(word)) {
			close(said)
		}
	}
	if len(h.text) > before {
		announce(h.word, h.ready)
		announce("BindException", h.failed)
	}
	return len(p), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.text) == 0 {
		return "it wrote nothing"
	}
	return "it wrote: " + strings.TrimSpace(string(h.text[:min(len(h.text), errorSize)]))
}
