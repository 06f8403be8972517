// Package quarantine has the commands of opledger quarantine, a file each.
package quarantine

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
)

// New makes opledger quarantine.
func New(outside terminal.Environment) *cobra.Command {
	return terminal.Group(&cobra.Command{
		Use:   "quarantine",
		Short: "List, show, retry and resolve signed bodies that could not be read",
		Long: "A signed delivery that cannot be understood is kept whole until its retention ends. So are pings,\n" +
			"and events of a type that this revision does not know.",
		Example: "  opledger quarantine list\n" +
			"  opledger quarantine show msg_2x…",
	}, newList(outside), newShow(outside), newRetry(outside), newResolve(outside))
}

// withQuarantineRemedy adds which command lists the quarantined deliveries. It ends with store.
func withQuarantineRemedy(err error, store string) error {
	if errors.Is(err, ledger.ErrNotFound) {
		return fmt.Errorf("no such delivery is in quarantine; opledger quarantine list%s shows those that are", store)
	}
	return err
}
