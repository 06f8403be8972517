package main

import (
	"context"
	"slices"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/server"
)

// followsPause reports whether a command that runs effects keeps the pause of another process: none
// runs them but such a command and serve, and no variable says what the command is to do.
func followsPause(outside environment, where location) bool {
	return where.topic == "" && !slices.ContainsFunc(outside.variables, func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		return name == "OPLEDGER_EFFECTS_PAUSED" && value != ""
	})
}

// notePause says that a command runs no effects because another process has paused them.
func notePause(ctx context.Context, outside environment, s *server.Server) error {
	paused, err := s.Paused(ctx)
	if paused {
		outside.note("effects are paused, as the last pass saw: what this command starts waits for the end of the pause; " +
			"OPLEDGER_EFFECTS_PAUSED=false runs it all the same")
	}
	return err
}
