package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A named is an operation as a person named it on the command line.
type named struct{ name operation.Name }

func parseNamed(text string) (named, error) {
	name, err := operation.ParseName(text, "")
	if err != nil {
		return named{}, usageError{err}
	}
	return named{name}, nil
}

// key returns the operation's key. A bare id is that of the one operation in the ledger that has it, in whichever collection.
func (n named) key(ctx context.Context, l *ledger.Ledger) (operation.Key, error) {
	if n.name.Key.Collection() != "" || strings.Contains(n.name.Resource, "/") {
		return n.name.Key, nil
	}
	var found []operation.Key
	for _, collection := range operation.Collections() {
		full, err := operation.ParseName(n.name.Resource, collection)
		if err != nil {
			return "", err
		}
		_, err = l.Record(ctx, full.Key)
		switch {
		case err == nil, errors.As(err, new(ledger.Broken)):
			found = append(found, full.Key)
		case !errors.Is(err, ledger.ErrNotFound):
			return "", err
		}
	}
	switch len(found) {
	case 0:
		return n.name.Key, nil
	case 1:
		return found[0], nil
	default:
		return "", fmt.Errorf("%s is the id of %v; name the one that is meant", dash(n.name.Resource), found)
	}
}

// perhapsIntent says of the path of an intent's document, where nothing of that name was found, how the intent is shown.
func perhapsIntent(err error, n named) error {
	id, ok := strings.CutPrefix(string(n.name.Key), ledger.IntentsCollection+"/")
	if !ok || !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	return fmt.Errorf("%s is no operation; opledger show --intent %s tells what is known of that intent", dash(string(n.name.Key)), typed(id))
}

// whereToLook says what to do about an operation, or an intent, that is not there.
func whereToLook(err error) error {
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return fmt.Errorf("%w; opledger list shows those it has", err)
	case errors.Is(err, ledger.ErrNoIntent):
		return fmt.Errorf("%w; opledger list --intents shows those that wait for their operation", err)
	default:
		return err
	}
}
