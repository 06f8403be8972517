package quarantine

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
)

func newList(outside terminal.Environment) *cobra.Command {
	var store string
	var from terminal.PageFlags
	var filter ledger.QuarantineFilter
	var wide bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List quarantined deliveries, newest first",
		Example: "  opledger quarantine list\n" +
			"  opledger quarantine list --reason malformed",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if filter.After, err = from.Parse(); err != nil {
				return terminal.Usage(err)
			}
			filter.Limit = from.Limit
			l, closeStore, err := open.Reader(cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			page, err := l.Quarantine.List(cmd.Context(), filter)
			switch {
			case err != nil:
			case outside.JSON:
				err = terminal.PrintJSON(outside.Out, terminal.PageJSON("quarantine", page.Items, page.Broken, page.Next))
			default:
				err = printQuarantine(cmd.Context(), outside, l, wide, filter, page)
			}
			return errors.Join(err, closeStore())
		},
	}
	open.StoreFlag(cmd, &store)
	cmd.Flags().StringVar(&filter.Reason, "reason", "",
		"only those kept for this reason, such as malformed or unknown-type")
	cmd.Flags().BoolVar(&filter.Unresolved, "unresolved", false,
		"only those that need an operator: neither ingested later nor resolved")
	terminal.Selectors(cmd, "reason")
	terminal.Exclusive(cmd, "reason", "unresolved")
	from.Add(cmd, "deliveries")
	terminal.WideFlag(cmd, &wide)
	terminal.JSONFlag(cmd, &outside)
	return cmd
}

func printQuarantine(
	ctx context.Context, outside terminal.Environment, l *ledger.Ledger, wide bool, filter ledger.QuarantineFilter,
	page ledger.Page[ledger.Quarantined],
) error {
	if len(page.Items)+len(page.Broken) == 0 {
		_, err := fmt.Fprintln(outside.Out, "nothing is in quarantine")
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
	total := func() (ledger.Total, error) { return l.Quarantine.Count(ctx, filter) }
	return errors.Join(
		terminal.PrintPage(outside.Out, terminal.Screen{Width: outside.Width(wide), Now: now}, headings, rows, page.Broken),
		terminal.PrintMore(outside.Out, len(rows)+len(page.Broken), total, page.Next),
	)
}
