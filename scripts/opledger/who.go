package main

import (
	"fmt"
	"os/user"
)

// whoTypes returns the user of this machine, to be recorded beside what a person decided.
func whoTypes() (string, error) {
	who, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("finding out who you are: %w; say it with --by", err)
	}
	return who.Username, nil
}
