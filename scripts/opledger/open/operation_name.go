package open

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An OperationName is an operation as it was named on the command line.
type OperationName struct{ operation.Name }

// ParseOperationName reads the name of an operation, which may be its bare id, or the key of a job's part. The
// error is one of usage.
func ParseOperationName(text string) (OperationName, error) {
	if part := strings.TrimRight(strings.TrimSpace(text), "/"); isPart(part) {
		return OperationName{operation.Name{Key: operation.Key(part), Resource: part}}, nil
	}
	name, err := operation.ParseName(text, "")
	if err != nil {
		return OperationName{}, terminal.Usage(err)
	}
	return OperationName{name}, nil
}

// Named runs a command whose argument is the name of an operation.
func Named(run func(*cobra.Command, OperationName) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		name, err := ParseOperationName(args[0])
		if err != nil {
			return err
		}
		return run(cmd, name)
	}
}

func isPart(text string) bool {
	_, _, ok := operation.ParsePart(text)
	return ok
}

// IsPart reports whether it is the key of a part of a job, which has no record of its own.
func (n OperationName) IsPart() bool { return isPart(string(n.Key)) }

// IsJob reports whether it names a job, as jobs/ID does.
func (n OperationName) IsJob() bool { return n.Key.Collection() == operation.Jobs }

// KeyIn returns the operation's key. A bare id names the one operation in the ledger that has it, in
// any collection.
func (n OperationName) KeyIn(ctx context.Context, l *ledger.Ledger) (operation.Key, error) {
	found, err := l.Operations.Find(ctx, n.Name)
	if err != nil {
		return "", err
	}
	job, err := n.job(ctx, l)
	if err != nil {
		return "", err
	}
	found = append(found, job...)
	switch len(found) {
	case 0:
		return n.Key, nil
	case 1:
		return found[0], nil
	default:
		return "", fmt.Errorf("%s is the id of several operations; name %s", phrase.Safe(n.Resource),
			phrase.Safe(diag.OneOf(found)))
	}
}

// In returns the name of the operation that a bare id names in the ledger of a command, for commands that need
// other settings for a job. Any other name, and an id that the ledger does not have, stay as they are.
func (n OperationName) In(ctx context.Context, outside terminal.Environment) (OperationName, error) {
	if n.Key.Collection() != "" || n.IsPart() {
		return n, nil
	}
	err := Reader(ctx, outside, func(l *ledger.Ledger) error {
		key, err := n.KeyIn(ctx, l)
		if err == nil && key != n.Key {
			n.Name = operation.Name{Key: key, Resource: string(key)}
		}
		return err
	})
	return n, err
}

// job returns the job that has a bare id, if there is one.
func (n OperationName) job(ctx context.Context, l *ledger.Ledger) ([]operation.Key, error) {
	key, err := operation.JobKey(n.Resource)
	if err != nil || n.Key.Collection() != "" {
		return nil, nil //nolint:nilerr // it is the id of no job
	}
	_, err = l.Operations.Read(ctx, key)
	switch {
	case err == nil, errors.As(err, new(ledger.Broken)):
		return []operation.Key{key}, nil
	case errors.Is(err, ledger.ErrNotFound):
		return nil, nil
	default:
		return nil, err
	}
}
