package terminal

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
	ExitDone = 0
	// ExitFailed: something needs the operator, be it what was found or what was not done.
	ExitFailed = 1
	ExitUsage  = 2
	// ExitUnread: the ledger, or Gemini, could not be read, so that nothing is known of either.
	ExitUnread = 3
	// ExitPipe: the reader of the output is gone. A shell reports it of a program that SIGPIPE ended.
	ExitPipe = 128 + int(syscall.SIGPIPE)
)

// An unreadError is that of a ledger, or of Gemini, that could not be read.
type unreadError struct{ error }

func (e unreadError) Unwrap() error { return e.error }

// Unread marks an error that is not nil as an unreadError.
func Unread(err error) error {
	if err == nil {
		return nil
	}
	return unreadError{err}
}

// ExitCode returns the exit code of an error.
func ExitCode(err error) int {
	var answer *lookup.LookupError
	switch {
	case errors.As(err, new(usageError)):
		return ExitUsage
	case errors.As(err, new(unreadError)), errors.As(err, new(ledger.Broken)), errors.Is(err, ledger.ErrUnavailable),
		errors.Is(err, ledger.ErrContention), errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded):
		return ExitUnread
	case errors.As(err, &answer) && !slices.Contains(answered, answer.Reason):
		return ExitUnread
	default:
		return ExitFailed
	}
}

// answered are the reasons of a look-up that say something of the operation's name.
var answered = []string{lookup.NotFound, lookup.Unsupported, lookup.InvalidName}

// ErrInterrupted says what ended a command, where its context would say "context canceled".
var ErrInterrupted = errors.New("it was interrupted")

// ErrLogged is wrapped by a failure that the command has reported in a line of its own.
var ErrLogged = errors.New("logged")
