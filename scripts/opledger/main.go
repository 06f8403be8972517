// Command opledger runs a ledger on one machine, and inspects and changes one anywhere.
//
//	opledger local       run everything on this machine, against a simulated Gemini with faults
//	opledger serve       run the four functions on one port
//	opledger status      show what is pending, running and dead, and what needs an operator
//	opledger list, show  inspect the ledger
//	opledger wait        wait until an operation is settled and its effects are done
//	opledger submit      record an intent, start an operation at Gemini and register it
//	opledger register    record an operation that was submitted elsewhere
//	opledger reconcile   make one pass, or look one operation up, now
//	opledger replay      run effects again
//	opledger abandon     stop waiting for an operation
//	opledger waive       record that a dead effect needs nothing more
//	opledger resolve     record that a conflict, or an operation that is not registered, is resolved
//	opledger forget      delete an operation and everything recorded about it
//	opledger intent      list, show, abandon and forget what submitters announced
//	opledger quarantine  list, show, retry and resolve signed bodies that could not be read
//	opledger backup      copy a ledger that is a file
//	opledger recover     bring a ledger restored from a backup up to date with the log
//	opledger canary      prove a deployment from end to end
//	opledger completion  print what completes command lines in bash, zsh or fish
//	opledger environment print the settings of a deployment, for the other commands
//	opledger webhook     create, list, ping, rotate, delete, check the webhook at Gemini, deliver to it
//
// It exits with 0 on success; 1 where something needs the operator, be it what was found or what was
// not done; 2 on wrong use; 3 where the ledger or Gemini could not be read; and 141 where whatever
// reads its output ends first. An error is one line on stderr that says what to do.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
)

func main() {
	log.SetOutput(io.Discard) // the SDK logs advice for its own developers there
	os.Exit(runProcess())
}

// runProcess runs the command line of this process. An interrupt ends it in order, and so does a
// terminal that is closed, or a reader of its output that is gone: what it has made is removed. A
// second signal ends it at once.
func runProcess() int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP)
	}
	// Without this a write to a pipe without a reader would end the process where it stands.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	broken := func() { cancel(syscall.EPIPE) }
	return root.Run(ctx, os.Args[1:], terminal.Environment{
		Variables: os.Environ(), In: os.Stdin, Out: terminal.OrPipe(os.Stdout, broken),
		Err: terminal.OrPipe(os.Stderr, broken),
	})
}
