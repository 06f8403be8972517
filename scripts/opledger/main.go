// Command opledger runs a ledger on one machine, and inspects and changes one anywhere.
//
//	opledger local       run everything on this machine, against a simulated Gemini with faults
//	opledger serve       run the four functions on one port
//	opledger status      say what waits, runs and is dead, and what needs an operator
//	opledger list, show  inspect the ledger
//	opledger wait        wait until an operation is settled and its effects are done
//	opledger submit      record an intent, start an operation at Gemini and register it
//	opledger register    record an operation that was submitted elsewhere
//	opledger reconcile   make one pass, or look one operation up, now
//	opledger replay      run effects again
//	opledger abandon     stop waiting for an operation, or waive a dead effect
//	opledger forget      delete an operation and everything recorded about it
//	opledger quarantine  list, show and retry signed bodies that could not be read
//	opledger backup      copy a ledger that is a file
//	opledger recover     bring a ledger restored from a backup up to date with the log
//	opledger deliver     sign and send a delivery, as Gemini does
//	opledger canary      prove a deployment from end to end
//	opledger webhook     create, list, ping, rotate, delete, check the webhook at Gemini
//
// It exits with 0 on success, 1 on failure and 2 on wrong use. An error is one line on stderr that
// says what to do.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	log.SetOutput(io.Discard) // the SDK logs advice for its own developers there
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], environment{
		variables: os.Environ(), in: os.Stdin, out: os.Stdout, err: os.Stderr,
	})
	os.Exit(code) //nolint:gocritic // nothing is left for stop to do
}

// An environment is everything outside the process that a command uses.
type environment struct {
	variables []string // as os.Environ
	in        io.Reader
	out, err  io.Writer
	// columns is the width of the terminal that out is; 0: it is asked, if it is one.
	columns int
	// wait sleeps between two attempts; nil: in real time.
	wait func(context.Context, time.Duration) error
	// now is the clock of the webhook commands; nil: the real one.
	now func() time.Time
}

// pause sleeps between two attempts, or until ctx ends.
func (e environment) pause(ctx context.Context, how time.Duration) error {
	if e.wait != nil {
		return e.wait(ctx, how)
	}
	timer := time.NewTimer(how)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
