package quarantine

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
)

func newList(outside terminal.Environment) *cobra.Command {
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
			return open.Reader(cmd.Context(), outside, func(l *ledger.Ledger) error {
				page, err := l.Quarantine.List(cmd.Context(), filter)
				switch {
				case err != nil:
					return err
				case outside.JSON:
					return terminal.PrintJSON(outside.Out, terminal.PageJSON("quarantine", page.Items, page.Broken, page.Next))
				}
				return printQuarantine(cmd.Context(), outside, l, wide, filter, page)
			})
		},
	}
	open.LedgerFlags(cmd, &outside)
	cmd.Flags().StringVar(&filter.Reason, "reason", "",
		"only those kept for this reason, such as malformed or unknown-type")
	cmd.Flags().BoolVar(&filter.Unresolved, "unresolved", false,
		"only those that need an operator: neither ingested later nor resolved")
	terminal.Selectors(cmd, "reason")
	terminal.Exclusive(cmd, "reason", "unresolved")
	from.Add(cmd, "deliveries")
	terminal.WideFlag(cmd, &wide)
	return cmd
}

func printQuarantine(
	ctx context.Context, outside terminal.Environment, l *ledger.Ledger, wide bool, filter ledger.QuarantineFilter,
	page ledger.Page[ledger.Quarantined],
) error {
	now, err := l.Now(ctx)
	if err != nil {
		return err
	}
	s := terminal.Screen{Width: outside.Width(wide), Now: now}
	headings := []any{"DELIVERY", "RECEIVED", "REASON", "TYPE", "RETRIED", "OUTCOME", "DETAIL"}
	total := func() (ledger.Total, error) { return l.Quarantine.Count(ctx, filter) }
	err = terminal.PrintPage(outside.Out, s, page, "nothing is in quarantine", headings,
		func(q ledger.Quarantined) []any {
			return []any{
				phrase.Safe(q.ID), q.ReceivedAt, phrase.Safe(q.Reason), phrase.Safe(q.Type), q.RetriedAt,
				phrase.Quarantined(q), phrase.Safe(diag.Cut(q.Detail, 120)),
			}
		})
	return errors.Join(err, terminal.PrintMore(outside.Out, page, total))
}
