package emulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startTimeout = 2 * time.Minute // they need 1 to 2 s, many times that on a loaded machine
	pollEvery    = 25 * time.Millisecond
	stopTimeout  = 5 * time.Second // they need 0.3 s after SIGTERM
)

// errEnded: the emulator ended before it answered, most likely because its port was in use.
var errEnded = errors.New("it ended at once")

// A Process is a running emulator.
type Process struct {
	name   string
	addr   string
	cmd    *exec.Cmd
	output *head
	exited chan struct{}
}

// run starts a command as a child that dies with this process.
func run(name, addr string, command []string) (*Process, error) {
	p := &Process{name: name, addr: addr, output: &head{}, exited: make(chan struct{})}
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

// Exited is closed when the emulator has ended, by Stop or by itself.
func (p *Process) Exited() <-chan struct{} { return p.exited }

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

// ready waits until the emulator answers GET / with Ok.
func (p *Process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no answer within %v", startTimeout))
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	for !answersOk(ctx, client, "http://"+p.addr+"/") {
		select {
		case <-p.exited:
			return fmt.Errorf("%w: %s", errEnded, p.output)
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w: %s", p.name, context.Cause(ctx), p.output)
		case <-time.After(pollEvery):
		}
	}
	return nil
}

func answersOk(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 16))
	return response.Body.Close() == nil && err == nil &&
		response.StatusCode == http.StatusOK && strings.TrimSpace(string(body)) == "Ok"
}

// A head keeps the beginning of what is written to it, which tells why an emulator did not start,
// and drops the rest: the Firestore emulator writes a stack trace for every refused commit, 40 MB
// for a few thousand of them.
type head struct {
	mu   sync.Mutex
	text []byte
}

const headSize = 4096

// Write never fails.
func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p[:min(len(p), headSize-len(h.text))]...)
	return len(p), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.text) == 0 {
		return "it wrote nothing"
	}
	return "it wrote: " + strings.TrimSpace(string(h.text))
}
