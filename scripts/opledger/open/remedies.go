package open

import (
	"errors"
	"fmt"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// WithRemedy adds to an error of the ledger which command helps.
func WithRemedy(err error) error {
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return fmt.Errorf("%w; opledger list shows those it has", err)
	case errors.Is(err, ledger.ErrNoIntent):
		return fmt.Errorf("%w; opledger intent list shows those that wait for their operation", err)
	case errors.Is(err, ledger.ErrUnregistered):
		return fmt.Errorf("%w; opledger register NAME registers it", err)
	case errors.Is(err, ledger.ErrNoConflict):
		return fmt.Errorf("%w; opledger list --conflict shows those that have one", err)
	case errors.Is(err, ledger.ErrRegistered):
		return fmt.Errorf("%w; opledger list --unregistered shows those that are not", err)
	case errors.Is(err, ledger.ErrNoJob):
		return fmt.Errorf("%w; opledger list --collection jobs shows those it has", err)
	case errors.Is(err, ledger.ErrJobPending):
		return fmt.Errorf("%w; the command is opledger cancel JOB --reason TEXT", err)
	case errors.Is(err, ledger.ErrPart):
		return fmt.Errorf("%w; opledger release and opledger cancel do that", err)
	case errors.Is(err, ledger.ErrStep):
		return fmt.Errorf("%w; opledger replay and opledger release do that", err)
	case errors.Is(err, ledger.ErrNewer):
		return fmt.Errorf("%w; use that revision, or a later one", err)
	default:
		return err
	}
}

// WithIntentRemedy is for the name of an intent's document where the name of an operation belongs.
func WithIntentRemedy(err error, n OperationName) error {
	id, ok := strings.CutPrefix(string(n.Key), ledger.IntentsCollection+"/")
	if !ok || !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	return fmt.Errorf("%s is no operation; opledger intent show %s shows that intent", phrase.Safe(string(n.Key)),
		phrase.ShellWord(id))
}
