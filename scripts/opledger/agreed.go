package main

import (
	"bufio"
	"fmt"
	"strings"
)

// agreed asks on stderr and reads a line from stdin; no line is no.
func agreed(outside environment, question string) bool {
	_, _ = fmt.Fprint(outside.err, question+" [y/N] ") // an answer that nobody asked for is none
	line, _ := bufio.NewReader(outside.in).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	default:
		return false
	}
}
