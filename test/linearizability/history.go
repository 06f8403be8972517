package linearizability

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"sync"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sys/unix"
)

// clock returns the nanoseconds of a clock that all processes of the machine share, and that no one
// sets.
func clock() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // every system that x/sys/unix is for has the clock
	}
	return now.Nano()
}

// A line is one line of a history's file: a call, and later its answer.
type line struct {
	Call   int64   `json:"call"` // numbers the calls of a file
	Client int     `json:"client"`
	At     int64   `json:"at"`
	Input  *input  `json:"input,omitempty"`
	Output *output `json:"output,omitempty"`
}

// A history is the file of one process in one round. Each line is one write, so that a process
// which is killed leaves all lines but perhaps the last one whole.
type history struct {
	mu    sync.Mutex
	file  *os.File
	calls int64
	err   error // of the first write that failed
}

func newHistory(path string) (*history, error) {
	file, err := os.Create(path)
	return &history{file: file}, err
}

// call writes a call, makes it, and writes its answer.
func (h *history) call(client int, in input, do func() output) output {
	h.mu.Lock()
	h.calls++
	call := h.calls
	began := clock()
	h.write(line{Call: call, Client: client, At: began, Input: &in})
	h.mu.Unlock()
	out := do()
	out.Began, out.Ended = began, clock()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.write(line{Call: call, Client: client, At: out.Ended, Output: &out})
	return out
}

func (h *history) write(l line) {
	text, err := json.Marshal(l)
	if err == nil {
		_, err = h.file.Write(append(text, '\n'))
	}
	if h.err == nil {
		h.err = err
	}
}

func (h *history) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.file.Close(); h.err == nil {
		h.err = err
	}
	return h.err
}

// readHistory reads the calls of a file. dead is when its process was found dead, or had answered
// every call.
func readHistory(path string, dead int64) ([]porcupine.Operation, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseHistory(text, dead)
}

func parseHistory(text []byte, dead int64) ([]porcupine.Operation, error) {
	var all []porcupine.Operation
	at := map[int64]int{}
	for lines := bufio.NewReader(bytes.NewReader(text)); ; {
		one, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return all, nil // what was written without its end was not written
		}
		var l line
		if err == nil {
			err = json.Unmarshal(one, &l)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the history's line %q: %w", one, err)
		}
		if l.Input != nil {
			at[l.Call] = len(all)
			all = append(all, porcupine.Operation{
				ClientId: l.Client, Input: *l.Input, Call: l.At,
				Output: output{Began: l.At, Ended: dead, Unknown: "its process was killed"}, Return: math.MaxInt64,
			})
			continue
		}
		op := &all[at[l.Call]]
		op.Output = *l.Output
		if l.Output.Unknown == "" {
			op.Return = l.At
		}
	}
}
