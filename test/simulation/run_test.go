package simulation

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// broken are scripts in which a schedule breaks off, and what Go says of each after so long at most.
var broken = map[string]struct {
	script Script
	within string
	said   string
}{
	"a panic in a goroutine": {
		func(w *World) { w.gate.spawn(func() { panic("planted") }) }, "10m", "panic: planted",
	},
	"a panic in a step": {func(w *World) {
		w.gate.later(0, nil, func() string { return "planted" }, func() { panic("planted") })
	}, "10m", "panic: planted"},
	"a deadlock": {func(w *World) { w.gate.spawn(func() { select {} }) }, "10m", "panic: deadlock"},
	"a mutex that is held": {func(w *World) {
		var mu sync.Mutex
		mu.Lock()
		w.gate.spawn(mu.Lock)
	}, "5s", "panic: test timed out"},
}

// envBroken names the script that this test's own process runs.
const envBroken = "OPLEDGER_TEST_BROKEN"

// TestBrokenOffScheduleIsTold: where a schedule ends its process, what is printed says how to repeat
// it.
func TestBrokenOffScheduleIsTold(t *testing.T) {
	t.Parallel()
	if name := os.Getenv(envBroken); name != "" {
		Run(t, Random(4711), Options{Script: broken[name].script})
		return
	}
	const repeat = `"repeat it": "go test ./test/simulation -run TestStorm -v -seed 4711"`
	for name, breaks := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			//nolint:gosec // the command is this test's own program
			process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBrokenOffScheduleIsTold$",
				"-test.timeout="+breaks.within)
			process.Env = append(os.Environ(), envBroken+"="+name)
			said, err := process.CombinedOutput()
			if text := string(said); err == nil || !strings.Contains(text, breaks.said) || !strings.Contains(text, repeat) {
				t.Errorf("it ended with %v and %s", err, text)
			}
		})
	}
}
