package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/shared/job"
)

// A process is one run of `opledger serve`, from its start to its end.
type process struct {
	function string // that it serves as deployed; empty: `opledger serve`
	id       string // such as "a3", the third run of instance a; whatever it calls is told so by URL or key
	command  *exec.Cmd
	ready    chan struct{} // closed when it serves
	address  string        // where; after ready
	done     chan struct{} // closed when it has ended and all that it wrote is in the log
	err      error         // how it ended; after done

	revision string       // of its program, where there are several
	answered atomic.Int64 // requests, with 2xx
	usages   chan usage   // what it takes, whenever a program that can say it was asked

	mu       sync.Mutex
	killed   bool
	leaving  bool // told to end, so that another takes its place
	log      []logLine
	diskFull int                  // lines that say so
	effects  map[string][]logLine // about effects, by operation
	raw      []string             // the same lines, as they were written
	noise    []string             // lines on stderr that are no log lines: a panic, or a race that the detector found
}

// A logLine is what the tests read in a line of the log.
type logLine struct {
	Message   string `json:"message"`
	Event     string `json:"event"`
	Operation string `json:"operation"`
	Effect    string `json:"effect"`
	Source    string `json:"source"`
	Outcome   string `json:"outcome"`
	Reason    string `json:"reason"`
	Attempt   int    `json:"attempt"`
	Took      int64  `json:"duration_ms"`
	Seized    bool   `json:"seized"`
	Severity  string `json:"severity"`
	Time      string `json:"time"`
	Trace     string `json:"logging.googleapis.com/trace"`
	Error     string `json:"error"`
}

const readyWords = "opledger serves on "

// newProcess makes a process that is still to be started.
func newProcess(id string) *process {
	return &process{
		id: id, ready: make(chan struct{}), done: make(chan struct{}),
		usages: make(chan usage, 1), effects: map[string][]logLine{},
	}
}

// startProcess starts `opledger serve` on a free port with exactly these variables, and does not wait for it.
func startProcess(t *testing.T, id string, variables []string, args ...string) (*process, error) {
	return startServe(binary(t), id, variables, args...)
}

// startServe is startProcess with a program that the caller has built.
func startServe(program, id string, variables []string, args ...string) (*process, error) {
	p := newProcess(id)
	p.command = exec.Command(program, append([]string{"serve", "--port", "0"}, args...)...)
	p.command.Env = append([]string{
		raceOptions, "TMPDIR=" + os.TempDir(), "OPLEDGER_SERVE_TOKEN=none",
	}, variables...)
	return p, p.start(p.said, p.logged)
}

// start starts the command and hands on what it writes to stdout and stderr, line by line.
func (p *process) start(out, errors func(string)) error {
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return err
	}
	stderr, err := p.command.StderrPipe()
	if err != nil {
		return err
	}
	if err := p.command.Start(); err != nil {
		return err
	}
	var readers sync.WaitGroup
	readers.Go(func() { eachLine(stdout, out) })
	readers.Go(func() { eachLine(stderr, errors) })
	go func() {
		readers.Wait()
		p.err = p.command.Wait()
		close(p.done)
	}()
	return nil
}

func eachLine(r io.Reader, do func(string)) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			do(strings.TrimSuffix(line, "\n"))
		}
		if err != nil {
			return // the process has ended
		}
	}
}

func (p *process) said(line string) {
	if p.counted(line) {
		return
	}
	if address, ok := strings.CutPrefix(line, readyWords); ok && p.address == "" {
		p.address = address
		close(p.ready)
	}
}

func (p *process) logged(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var line logLine
	if err := json.Unmarshal([]byte(text), &line); err == nil {
		if strings.Contains(line.Error, diskIsFull) {
			p.diskFull++
		}
		p.log, p.raw = append(p.log, line), append(p.raw, text)
		if line.Event == "effect" && !job.IsStep(line.Effect) { // a step reaches no receiver
			p.effects[line.Operation] = append(p.effects[line.Operation], line)
		}
	} else if !strings.HasPrefix(text, "opledger: the ledger is in ") {
		p.noise = append(p.noise, text)
	}
}

// url is where the process serves, or "" while it does not.
func (p *process) url() string {
	select {
	case <-p.ready:
		return p.address
	default:
		return ""
	}
}

// kill ends the process with SIGKILL and returns when it is dead. It reports whether it was this call that killed it.
func (p *process) kill() bool {
	p.mu.Lock()
	mine := !p.killed
	p.killed = true
	p.mu.Unlock()
	if mine {
		_ = p.command.Process.Kill() // one that has ended by itself shows in wasKilled's reader
	}
	<-p.done
	return mine
}

func (p *process) wasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}

func (p *process) lines() []logLine {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]logLine(nil), p.log...)
}

// effectLines returns what the process logged of effects of an operation.
func (p *process) effectLines(operation string) []logLine {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.effects[operation])
}

// about returns the outcomes of the process's attempts at effects of an operation.
func (p *process) about(operation string) (outcomes []string) {
	for _, line := range p.effectLines(operation) {
		outcomes = append(outcomes, line.Outcome)
	}
	return outcomes
}

// tail is the end of what the process said, for the reader of a failure.
func (p *process) tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := strings.Join(p.noise, "\n")
	for _, line := range p.log[max(0, len(p.log)-10):] {
		b, _ := json.Marshal(line)
		text += "\n" + string(b)
	}
	return text
}
