// Command opledger runs the ledger on one machine, and looks into one anywhere.
//
//	opledger local       the whole job on this machine, with a simulated Gemini that misbehaves
//	opledger serve       the four functions on one port
//	opledger list, show  the ledger for a person
//	opledger submit      start an operation at Gemini and record it, with the intent first
//	opledger register    record an operation that was submitted elsewhere
//	opledger reconcile   one pass, or one operation, now
//	opledger replay      run effects again
//	opledger abandon     stop waiting for an operation, or for a dead effect
//	opledger forget      delete an operation with everything under it
//	opledger quarantine  list, show, retry signed bodies that nobody could read
//	opledger backup      a copy of a ledger that is a file
//	opledger recover     bring a ledger restored from a backup up to what the log says
//	opledger webhook     create, list, ping, rotate, delete, check the webhook at Gemini
//
// It exits with 0 when it did what was asked, 1 when it failed, and 2 when it was used wrongly; errors are one line on stderr
// that says what to do.
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
	log.SetOutput(io.Discard) // where the SDK gives its programmers advice; what matters to users is printed by run
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], environment{
		variables: os.Environ(), in: os.Stdin, out: os.Stdout, err: os.Stderr,
	})
	os.Exit(code) //nolint:gocritic // nothing is left for stop to do
}

// An environment is what a command has of the outside.
type environment struct {
	variables []string // as os.Environ
	in        io.Reader
	out, err  io.Writer
	// wait lets some time pass before another try; nil: real time.
	wait func(context.Context, time.Duration) error
	// now is the clock of the webhook commands; nil: the real one.
	now func() time.Time
}
