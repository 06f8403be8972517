package simulation

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// broken are scripts in which a schedule breaks off, and what Go says of each.
var broken = map[string]struct {
	script Script
	said   string
}{
	"a panic in a goroutine": {
		func(w *World) { w.gate.spawn(func() { panic("planted") }) }, "panic: planted",
	},
	"a panic in a step": {func(w *World) {
		w.gate.later(0, nil, func() string { return "planted" }, func() { panic("planted") })
	}, "panic: planted"},
	"a deadlock": {func(w *World) { w.gate.spawn(func() { select {} }) }, "panic: deadlock"},
	mutexHeld: {func(w *World) {
		var mu sync.Mutex
		mu.Lock()
		w.gate.spawn(mu.Lock)
	}, "panic: " + timedOut},
}

// A held mutex stops its bubble for ever, so that only the limit of -timeout ends the process.
const mutexHeld, timedOut = "a mutex that is held", "test timed out"

// timeOut ends the process as -timeout does, as soon as a goroutine of a bubble waits for a mutex.
func timeOut() {
	for stacks := make([]byte, 1<<20); ; runtime.Gosched() {
		if bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("[sync.Mutex.Lock, synctest bubble")) {
			debug.SetTraceback("all")
			panic(timedOut)
		}
	}
}

// envBroken names the script that this test's own process runs.
const envBroken = "OPLEDGER_TEST_BROKEN"

// TestBrokenOffScheduleIsTold: where a schedule ends its process, what is printed says how to repeat
// it.
func TestBrokenOffScheduleIsTold(t *testing.T) {
	t.Parallel()
	if name := os.Getenv(envBroken); name != "" {
		if name == mutexHeld {
			go timeOut()
		}
		Run(t, Random(4711), Options{Script: broken[name].script})
		return
	}
	const repeat = `"repeat it": "go test ./test/simulation -run TestStorm -v -seed 4711"`
	for name, breaks := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			//nolint:gosec // the command is this test's own program
			process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBrokenOffScheduleIsTold$")
			process.Env = append(os.Environ(), envBroken+"="+name)
			said, err := process.CombinedOutput()
			if text := string(said); err == nil || !strings.Contains(text, breaks.said) || !strings.Contains(text, repeat) {
				t.Errorf("it ended with %v and %s", err, text)
			}
		})
	}
}
