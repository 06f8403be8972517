// Package terminal is what every command needs to talk to the person or the program that runs it: flags,
// questions, tables, pages, JSON and exit codes. It knows no command. Start at environment.go: a command
// gets everything outside its process as an Environment.
package terminal

import (
	"context"
	"io"
	"time"

	"github.com/googleapis/gax-go/v2"
)

// An Environment is everything outside the process that a command uses.
type Environment struct {
	Variables []string // as os.Environ
	In        io.Reader
	Out, Err  io.Writer
	// Columns is the width of the terminal that out is; 0: it is asked, if it is one.
	Columns int
	// Store is --store of the command line; empty: it has none.
	Store string
	// JSON, Override and Yes: the command line has --json, --override-settings or --yes.
	JSON, Override, Yes bool
	// Wait sleeps between two attempts; nil: in real time.
	Wait func(context.Context, time.Duration) error
	// Now is the clock of the webhook commands; nil: the real one.
	Now func() time.Time
}

// Pause sleeps between two attempts, or until ctx ends.
func (e Environment) Pause(ctx context.Context, how time.Duration) error {
	if e.Wait != nil {
		return e.Wait(ctx, how)
	}
	return gax.Sleep(ctx, how)
}

// Time is the present by this machine's clock, or by that of a test.
func (e Environment) Time() time.Time {
	if e.Now != nil {
		return e.Now()
	}
	return time.Now()
}
