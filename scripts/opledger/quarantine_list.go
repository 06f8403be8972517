package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
)

func newQuarantineList(outside environment) *cobra.Command {
	var store, after string
	var filter ledger.QuarantineFilter
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List quarantined deliveries, newest first",
		Example: "  opledger quarantine list\n" +
			"  opledger quarantine list --reason malformed",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if filter.After, err = parseCursor(after); err != nil {
				return usageError{err}
			}
			if filter.Limit < 1 {
				return usageError{fmt.Errorf("--limit: it must be at least 1, not %d", filter.Limit)}
			}
			l, closeStore, err := openReader(cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			page, err := l.ListQuarantined(cmd.Context(), filter)
			if err = errors.Join(err, closeStore()); err != nil {
				return err
			}
			if asJSON {
				return printJSON(outside.out, pageJSON("quarantine", page.Items, page.Broken, page.Next))
			}
			return printQuarantine(outside.out, page)
		},
	}
	storeFlag(cmd, &store)
	flags := cmd.Flags()
	flags.StringVar(&filter.Reason, "reason", "", "only those kept for this reason, such as malformed or unknown-type")
	flags.IntVar(&filter.Limit, "limit", 50, "at most this many")
	flags.StringVar(&after, "after", "", "continue after a page, with the value that it printed")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printQuarantine(w io.Writer, page ledger.Page[ledger.Quarantined]) error {
	if len(page.Items)+len(page.Broken) == 0 {
		_, err := fmt.Fprintln(w, "nothing is in quarantine")
		return err
	}
	rows := make([][]any, len(page.Items))
	for i, q := range page.Items {
		rows[i] = []any{
			phrase.Safe(q.ID), q.ReceivedAt, phrase.Safe(q.Reason), phrase.Safe(q.Type), q.RetriedAt,
			phrase.Safe(string(q.Outcome)),
			phrase.Safe(diag.Cut(q.Detail, 120)),
		}
	}
	headings := []any{"DELIVERY", "RECEIVED", "REASON", "TYPE", "RETRIED", "OUTCOME", "DETAIL"}
	return printPage(w, headings, rows, page.Broken, page.Next)
}
