package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/ledger"
)

func newIntent(outside environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "intent",
		Short: "List, show, abandon and forget what submitters announced",
		Long: "A submitter records an intent under a correlation id before it submits a job. The intent waits until\n" +
			"the operation of that id is found.",
		Example: "  opledger intent list\n" +
			"  opledger intent show nightly-2026-11-21",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newIntentList(outside), newIntentShow(outside), newIntentAbandon(outside), newIntentForget(outside))
	return cmd
}

// intentID returns the correlation id on a command line, also where it is written as the name of the
// intent's document, as alerts name it.
func intentID(args []string) (string, error) {
	id := strings.TrimPrefix(args[0], ledger.IntentsCollection+"/")
	if strings.TrimSpace(id) == "" {
		return "", usageError{errors.New("correlation id: it is empty; give the one that the submitter used")}
	}
	return id, nil
}
