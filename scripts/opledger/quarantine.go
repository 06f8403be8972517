package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
)

func newQuarantine(outside environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quarantine",
		Short: "Look at signed bodies that nobody could read, and take them in once they can be",
		Long: "A signed delivery that cannot be understood is kept whole until a person looks or the retention ends: pings and\n" +
			"events of a type that this revision does not know, too.",
		Example: "  opledger quarantine list\n" +
			"  opledger quarantine show msg_2x…",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newQuarantineList(outside), newQuarantineShow(outside), newQuarantineRetry(outside))
	return cmd
}

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
	cmd.Flags().StringVar(&filter.Reason, "reason", "", "only those kept for this reason, such as malformed or unknown-type")
	cmd.Flags().IntVar(&filter.Limit, "limit", 50, "at most so many")
	cmd.Flags().StringVar(&after, "after", "", "continue behind a page: what it said to pass here")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
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
			dash(q.ID), localTime(q.ReceivedAt), dash(q.Reason), dash(q.Type), localTime(q.RetriedAt), dash(string(q.Outcome)),
			dash(diag.Cut(q.Detail, 120)),
		}
	}
	return printTable(w, "DELIVERY\tRECEIVED\tREASON\tTYPE\tRETRIED\tOUTCOME\tDETAIL", rows, page.Broken, page.Next)
}

func newQuarantineShow(outside environment) *cobra.Command {
	var store string
	var asJSON, bodyOnly bool
	cmd := &cobra.Command{
		Use:   "show DELIVERY",
		Short: "Show one quarantined delivery: why it is there, its headers, its body",
		Example: "  opledger quarantine show msg_2x…\n" +
			"  opledger quarantine show msg_2x… --body > body.json",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, closeStore, err := openReader(cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			q, body, err := l.ReadQuarantined(cmd.Context(), args[0])
			if err = errors.Join(inQuarantine(err), closeStore()); err != nil {
				return err
			}
			switch {
			case bodyOnly && isTerminal(outside.out):
				return usageError{errors.New("--body prints what a stranger sent, which could command this terminal; send it to a file or a pipe")}
			case bodyOnly:
				_, err = outside.out.Write(body)
				return err
			case asJSON:
				q.Body = nil
				return printJSON(outside.out, map[string]any{"delivery": q, "body": string(body)})
			}
			return printQuarantined(outside.out, q, body)
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().BoolVar(&bodyOnly, "body", false, "print the body alone, byte for byte")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("body", "json")
	return cmd
}

func printQuarantined(w io.Writer, q ledger.Quarantined, body []byte) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintf(table, "%s\t%s\n  received\t%s\n  type\t%s\n  why\t%s\n  retried\t%s %s\n  kept until\t%s\n", dash(q.ID), dash(q.Reason),
		localTime(q.ReceivedAt), dash(q.Type), dash(q.Detail), localTime(q.RetriedAt), dash(string(q.Outcome)), localTime(q.ExpireAt))
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) {
		_, lineErr := fmt.Fprintf(table, "  %s\t%s\n", dash(name), dash(q.Headers[name]))
		err = errors.Join(err, lineErr)
	}
	_, lineErr := fmt.Fprintf(table, "  body\t%d bytes; --body prints them as they came\n\n", len(body))
	err = errors.Join(err, lineErr, table.Flush())
	_, lineErr = fmt.Fprintln(w, dash(string(body)))
	return errors.Join(err, lineErr)
}

// isTerminal reports whether what is written to w is shown by a terminal, or some other device.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// inQuarantine says what to do about a delivery that is not there.
func inQuarantine(err error) error {
	if errors.Is(err, ledger.ErrNotFound) {
		return errors.New("no such delivery is in quarantine; opledger quarantine list shows those that are")
	}
	return err
}
