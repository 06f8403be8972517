package main

import (
	"bufio"
	"fmt"
	"os/user"
	"strings"
)

// operatorName returns the user of this machine, who is recorded with a decision.
func operatorName() (string, error) {
	who, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("finding the user of this machine: %w; name one with --by", err)
	}
	return who.Username, nil
}

// confirmed asks on stderr and reads the answer from stdin; no answer means no.
func confirmed(outside environment, question string) bool {
	_, _ = fmt.Fprint(outside.err, question+" [y/N] ") // without stderr there is no question, and so no answer
	line, _ := bufio.NewReader(outside.in).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	default:
		return false
	}
}
