package main

import (
	"context"
	"errors"
	"slices"
	"syscall"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
)

// The exit codes.
const (
	exitDone = 0
	// exitFailed: something needs the operator, be it what was found or what was not done.
	exitFailed = 1
	exitUsage  = 2
	// exitUnread: the ledger, or Gemini, could not be read, so that nothing is known of either.
	exitUnread = 3
	// exitPipe: the reader of the output is gone. A shell reports it of a program that SIGPIPE ended.
	exitPipe = 128 + int(syscall.SIGPIPE)
)

// An unreadError is that of a ledger, or of Gemini, that could not be read.
type unreadError struct{ error }

func (e unreadError) Unwrap() error { return e.error }

// unread marks an error that is not nil as an unreadError.
func unread(err error) error {
	if err == nil {
		return nil
	}
	return unreadError{err}
}

// exitCode returns the exit code of an error.
func exitCode(err error) int {
	var answer *lookup.LookupError
	switch {
	case errors.As(err, new(usageError)):
		return exitUsage
	case errors.As(err, new(unreadError)), errors.As(err, new(ledger.Broken)), errors.Is(err, ledger.ErrUnavailable),
		errors.Is(err, ledger.ErrContention), errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded):
		return exitUnread
	case errors.As(err, &answer) && !slices.Contains(answered, answer.Reason):
		return exitUnread
	default:
		return exitFailed
	}
}

// answered are the reasons of a look-up that say something of the operation's name.
var answered = []string{lookup.NotFound, lookup.Unsupported, lookup.InvalidName}

// errInterrupted says what ended a command, where its context would say "context canceled".
var errInterrupted = errors.New("it was interrupted")

// errLogged is wrapped by a failure that the command has reported in a line of its own.
var errLogged = errors.New("logged")
