package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// processorTime returns how long a process has computed, in steps of 10 ms; 0 where that is not
// known, which is everywhere but on Linux.
func processorTime(pid int) time.Duration {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every architecture that Go runs on
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// Behind the name, which may hold anything, the 12th and 13th fields are user and system time.
	_, fields, _ := strings.Cut(string(stat), ") ")
	var skipped string
	var user, system time.Duration
	var numbers [10]int64
	into := []any{&skipped}
	for i := range numbers {
		into = append(into, &numbers[i])
	}
	if _, err := fmt.Sscan(fields, append(into, &user, &system)...); err != nil {
		return 0
	}
	return (user + system) * tick
}

// peakMemory returns how many bytes of memory a process has had resident at most; 0 where that is not known.
// What the kernel says of a process that has ended counts what its parent had when it was started.
func peakMemory(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes int64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		return 0
	}
	return kilobytes << 10
}
