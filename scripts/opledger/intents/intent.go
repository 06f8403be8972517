// Package intents has the commands of opledger intent, a file each.
package intents

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
)

// New makes opledger intent.
func New(outside terminal.Environment) *cobra.Command {
	return terminal.Group(&cobra.Command{
		Use:   "intent",
		Short: "List, show, abandon and forget what submitters announced",
		Long: "A submitter records an intent under a correlation id before it submits a job. The intent waits until\n" +
			"the operation of that id is found.",
		Example: "  opledger intent list\n" +
			"  opledger intent show nightly-2026-11-21",
	}, newList(outside), newShow(outside), newAbandon(outside), newForget(outside))
}

// oneID takes a correlation id, to the letter: one may begin with intents/.
func oneID(cmd *cobra.Command, args []string) error {
	err := terminal.Args(cobra.ExactArgs(1))(cmd, args)
	if err == nil && strings.TrimSpace(args[0]) == "" {
		err = terminal.Usage(errors.New("correlation id: it is empty; give the one that the submitter used"))
	}
	return err
}

// withPrefixRemedy adds to the error about an intent that is not there how an alert's name of it is
// written.
func withPrefixRemedy(err error, id string) error {
	short, prefixed := strings.CutPrefix(id, ledger.IntentsCollection+"/")
	if !prefixed || !errors.Is(err, ledger.ErrNoIntent) {
		return err
	}
	return fmt.Errorf("%w of the correlation id %s; for that of an alert leave intents/ out: %s", err, diag.Quote(id),
		phrase.ShellWord(short))
}
