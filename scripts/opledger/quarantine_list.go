package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
)

func newQuarantineList(outside environment) *cobra.Command {
	var store string
	var from pageFlags
	var filter ledger.QuarantineFilter
	var wide bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List quarantined deliveries, newest first",
		Example: "  opledger quarantine list\n" +
			"  opledger quarantine list --reason malformed",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if filter.After, err = from.parse(); err != nil {
				return usageError{err}
			}
			filter.Limit = from.limit
			l, closeStore, err := openReader(cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			page, err := l.ListQuarantined(cmd.Context(), filter)
			switch {
			case err != nil:
			case outside.json:
				err = printJSON(outside.out, pageJSON("quarantine", page.Items, page.Broken, page.Next))
			default:
				err = printQuarantine(cmd.Context(), outside, l, wide, filter, page)
			}
			return errors.Join(err, closeStore())
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().StringVar(&filter.Reason, "reason", "",
		"only those kept for this reason, such as malformed or unknown-type")
	cmd.Flags().BoolVar(&filter.Unresolved, "unresolved", false,
		"only those that need an operator: neither ingested later nor resolved")
	exclusive(cmd, "reason", "unresolved")
	from.add(cmd, "deliveries")
	wideFlag(cmd, &wide)
	jsonFlag(cmd, &outside)
	return cmd
}

func printQuarantine(
	ctx context.Context, outside environment, l *ledger.Ledger, wide bool, filter ledger.QuarantineFilter,
	page ledger.Page[ledger.Quarantined],
) error {
	if len(page.Items)+len(page.Broken) == 0 {
		_, err := fmt.Fprintln(outside.out, "nothing is in quarantine")
		return err
	}
	now, err := l.Now(ctx)
	if err != nil {
		return err
	}
	rows := make([][]any, len(page.Items))
	for i, q := range page.Items {
		rows[i] = []any{
			phrase.Safe(q.ID), q.ReceivedAt, phrase.Safe(q.Reason), phrase.Safe(q.Type), q.RetriedAt,
			phrase.Quarantined(q),
			phrase.Safe(diag.Cut(q.Detail, 120)),
		}
	}
	headings := []any{"DELIVERY", "RECEIVED", "REASON", "TYPE", "RETRIED", "OUTCOME", "DETAIL"}
	total := func() (ledger.Total, error) { return l.CountQuarantined(ctx, filter) }
	return errors.Join(
		printPage(outside.out, screen{width: outside.width(wide), now: now}, headings, rows, page.Broken),
		printMore(outside.out, len(rows)+len(page.Broken), total, page.Next),
	)
}
