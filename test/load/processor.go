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
