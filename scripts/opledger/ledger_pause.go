package main

import (
	"slices"
	"strings"
)

// followsPause reports whether a command that runs effects keeps the pause of another process: none
// runs them but such a command and serve, and no variable says what the command is to do.
func followsPause(outside environment, where location) bool {
	return where.topic == "" && !slices.ContainsFunc(outside.variables, func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		return name == "OPLEDGER_EFFECTS_PAUSED" && value != ""
	})
}

// pauseNote says that a command runs no effects because another process has paused them.
const pauseNote = "effects are paused, as the ledger says: what this command starts waits for the end of the pause; " +
	"OPLEDGER_EFFECTS_PAUSED=false runs it all the same"
