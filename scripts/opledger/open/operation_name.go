package open

import (
	"context"
	"fmt"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An OperationName is an operation as it was named on the command line.
type OperationName struct{ operation.Name }

// ParseOperationName reads the name of an operation, which may be its bare id. The error is one of usage.
func ParseOperationName(text string) (OperationName, error) {
	name, err := operation.ParseName(text, "")
	if err != nil {
		return OperationName{}, terminal.Usage(err)
	}
	return OperationName{name}, nil
}

// KeyIn returns the operation's key. A bare id names the one operation in the ledger that has it, in
// any collection.
func (n OperationName) KeyIn(ctx context.Context, l *ledger.Ledger) (operation.Key, error) {
	found, err := l.Operations.Find(ctx, n.Name)
	if err != nil {
		return "", err
	}
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
