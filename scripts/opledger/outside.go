package main

import (
	"context"
	"io"
	"time"
)

// An environment is everything outside the process that a command uses.
type environment struct {
	variables []string // as os.Environ
	in        io.Reader
	out, err  io.Writer
	// columns is the width of the terminal that out is; 0: it is asked, if it is one.
	columns int
	// json: the command line has --json.
	json bool
	// override: the command line has --override-settings.
	override bool
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
