package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/opledger/opledger/test/harness"
)

// opledger is the program that is measured.
const opledger = "github.com/opledger/opledger/scripts/opledger"

// A target is one row of the table: what is sent where.
type target struct {
	name    string
	url     string
	pid     int
	outcome string // that every answer names
	event   func(n int64) delivery
}

// start builds opledger and starts serve and the two bare handlers. stop ends them.
func start(ctx context.Context, dir string) (targets []target, stop func(), err error) {
	binary := filepath.Join(dir, "opledger")
	if err := harness.Build("", opledger, binary); err != nil {
		return nil, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("finding this program: %w", err)
	}
	var running []*exec.Cmd
	stop = func() {
		for _, cmd := range running {
			_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
			_ = cmd.Wait()                          // by that signal
		}
	}
	addresses, pids := map[string]string{}, map[string]int{}
	for _, process := range []struct {
		name      string
		command   []string
		variables []string
	}{
		{bare, []string{self}, []string{roleVariable + "=" + bare}},
		{commit, []string{self}, []string{roleVariable + "=" + commit, fileVariable + "=" + filepath.Join(dir, "bare.db")}},
		{"serve", []string{
			binary, "serve", "--port", "0", "--schedule=false", "--store", "sqlite:" + filepath.Join(dir, "ledger.db"),
		}, []string{"OPLEDGER_WEBHOOK_SECRET=" + secret, "GEMINI_API_KEY=never-used"}},
	} {
		cmd := exec.CommandContext(ctx, process.command[0], process.command[1:]...)
		cmd.Env = append(without(os.Environ(), "OPLEDGER_", "GEMINI_", "FUNCTION_TARGET="), process.variables...)
		address, err := ready(cmd, filepath.Join(dir, process.name+".log"))
		if cmd.Process != nil {
			running = append(running, cmd)
		}
		if err != nil {
			stop()
			return nil, nil, fmt.Errorf("starting %s: %w", process.name, err)
		}
		addresses[process.name], pids[process.name] = address, cmd.Process.Pid
	}
	served, pid := addresses["serve"]+"/webhook", pids["serve"]
	return []target{
		{"bare handler", addresses[bare], pids[bare], "bare", distinct},
		{"one bare commit", addresses[commit], pids[commit], "bare", distinct},
		{"serve: distinct", served, pid, "applied", distinct},
		{"serve: duplicate", served, pid, "duplicate", duplicate},
		{"serve: hot", served, pid, "dropped", hot},
	}, stop, nil
}

func without(variables []string, prefixes ...string) (rest []string) {
variables:
	for _, variable := range variables {
		for _, prefix := range prefixes {
			if strings.HasPrefix(variable, prefix) {
				continue variables
			}
		}
		rest = append(rest, variable)
	}
	return rest
}

// ready starts a process, whose log goes to a file, and returns the address that it prints.
func ready(cmd *exec.Cmd, log string) (string, error) {
	file, err := os.Create(log)
	if err != nil {
		return "", fmt.Errorf("making its log: %w", err)
	}
	defer file.Close() //nolint:errcheck // the process has its own
	cmd.Stderr = file
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if at := strings.Index(lines.Text(), "http://"); at >= 0 {
			go io.Copy(io.Discard, out) //nolint:errcheck // it ends with the process
			return lines.Text()[at:], nil
		}
	}
	said, err := os.ReadFile(log)
	return "", errors.Join(fmt.Errorf("it ended without an address; its log: %s", said), err)
}
