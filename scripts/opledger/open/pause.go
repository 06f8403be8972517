package open

import (
	"slices"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/terminal"
)

// followsPause reports whether a command that runs effects keeps the pause of another process: none
// runs them but such a command and serve, and no variable says what the command is to do.
func followsPause(outside terminal.Environment, where Location) bool {
	return where.Topic == "" && !slices.ContainsFunc(outside.Variables, func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		return name == "OPLEDGER_EFFECTS_PAUSED" && value != ""
	})
}

// pauseNote says that a command runs no effects because another process has paused them.
const pauseNote = "effects are paused, as the ledger says: what this command starts waits until the pause ends; " +
	"OPLEDGER_EFFECTS_PAUSED=false runs it all the same"
