package open

import (
	"errors"
	"fmt"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
)

// WithRemedy adds to an error of the ledger which command helps, on the same ledger.
func WithRemedy(err error, outside terminal.Environment) error {
	for _, remedy := range []struct {
		of    error
		words string
	}{
		{ledger.ErrNotFound, "opledger list%s shows those it has"},
		{ledger.ErrNoIntent, "opledger intent list%s shows those that wait for their operation"},
		{ledger.ErrUnregistered, "opledger register NAME%s registers it"},
		{ledger.ErrNoConflict, "opledger list --conflict%s shows those that have one"},
		{ledger.ErrNotLeftOut, "opledger status%s says which effects are left out"},
		{ledger.ErrRegistered, "opledger list --unregistered%s shows those that are not"},
		{ledger.ErrNoJob, "opledger list --collection jobs%s shows those it has"},
		{ledger.ErrJobPending, "the command is opledger cancel JOB --reason TEXT%s"},
		{ledger.ErrPart, "opledger release and opledger cancel do that"},
		{ledger.ErrStep, "opledger replay and opledger release do that"},
		{ledger.ErrNewer, "use that revision, or a later one"},
	} {
		if errors.Is(err, remedy.of) {
			return fmt.Errorf("%w; %s", err, strings.Replace(remedy.words, "%s", NamedFlag(outside), 1))
		}
	}
	return err
}

// WithIntentRemedy is for the name of an intent's document where the name of an operation belongs.
func WithIntentRemedy(err error, n OperationName, outside terminal.Environment) error {
	id, ok := strings.CutPrefix(string(n.Key), ledger.IntentsCollection+"/")
	if !ok || !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	return fmt.Errorf("%s is no operation; opledger intent show %s%s shows that intent", phrase.Safe(string(n.Key)),
		phrase.ShellWord(id), NamedFlag(outside))
}
