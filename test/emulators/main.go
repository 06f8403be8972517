// Emulators runs a command beside one Firestore and one Pub/Sub emulator, which all tests that the
// command runs share: each package that starts its own takes seconds of processor time for it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/opledger/opledger/test/harness"
)

func main() {
	err := run(os.Args[1:])
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		os.Exit(max(ended.ExitCode(), 1)) // -1: a signal ended it
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "emulators:", err)
		os.Exit(1)
	}
}

func run(command []string) error {
	if len(command) == 0 {
		return errors.New("no command is given: go run ./test/emulators go test ./shared/ledger/firestore")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	stopEmulators, err := harness.StartEmulators(ctx)
	if err != nil {
		return err
	}
	defer stopEmulators()
	child := exec.CommandContext(ctx, command[0], command[1:]...)
	child.Cancel = func() error { return child.Process.Signal(syscall.SIGTERM) }
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	return child.Run()
}
