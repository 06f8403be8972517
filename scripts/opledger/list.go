package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

func newList(outside environment) *cobra.Command {
	var store, collection, after string
	var states []string
	var asJSON, intents bool
	filter := ledger.Filter{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List operations, newest first",
		Long: "Lists operations, newest first. --pending lists those that are waited for, and why. --dead lists\n" +
			"those with a dead effect, and dead alerts. --intents lists what submitters announced and no\n" +
			"operation has been found for. A document that cannot be read, or that another program wrote, is\n" +
			"left alone and has a row that says so.",
		Example: "  opledger list\n" +
			"  opledger list --state FAILED --json\n" +
			"  opledger list --pending\n" +
			"  opledger list --dead\n" +
			"  opledger list --intents",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if filter, err = parseFilter(filter, states, collection, after); err != nil {
				return usageError{err}
			}
			l, closeStore, err := openReader(cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			if intents {
				err = listIntents(cmd.Context(), outside.out, l, filter, asJSON)
			} else {
				err = listOperations(cmd.Context(), outside.out, l, filter, asJSON)
			}
			return errors.Join(err, closeStore())
		},
	}
	storeFlag(cmd, &store)
	flags := cmd.Flags()
	filterFlags(cmd, &filter, &states, &collection)
	flags.BoolVar(&filter.Pending, "pending", false,
		"only operations that are waited for, in the order of their next look-up")
	flags.BoolVar(&filter.Dead, "dead", false, "only operations, and other subjects of alerts, with a dead effect")
	flags.BoolVar(&intents, "intents", false,
		"the intents that wait for their operation, in the order of their next search")
	flags.IntVar(&filter.Limit, "limit", 50, "at most this many")
	flags.StringVar(&after, "after", "", "continue after a page, with the value that it printed")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	exclusive(cmd, "pending", "dead")
	for _, other := range []string{"pending", "dead", "state", "collection", "job-kind"} {
		exclusive(cmd, "intents", other)
	}
	return cmd
}

func listOperations(ctx context.Context, w io.Writer, l *ledger.Ledger, filter ledger.Filter, asJSON bool) error {
	page, err := l.List(ctx, filter)
	switch {
	case err != nil:
		return err
	case asJSON:
		return printJSON(w, pageJSON("operations", page.Items, page.Broken, page.Next))
	case !filter.Pending:
		return printOperations(w, page)
	}
	now, err := l.Now(ctx)
	if err != nil {
		return err
	}
	return printPending(w, page, now)
}

// filterFlags adds the flags that choose operations.
func filterFlags(cmd *cobra.Command, filter *ledger.Filter, states *[]string, collection *string) {
	flags := cmd.Flags()
	flags.StringSliceVar(states, "state", nil, "only operations in this state, such as RUNNING; several: FAILED,EXPIRED")
	flags.StringVar(collection, "collection", "", "only operations of this collection, such as batches")
	flags.StringVar(&filter.JobKind, "job-kind", "", "only operations of this job kind, a pattern such as 'nightly-*'")
}

// parseFilter adds to a filter what was typed.
func parseFilter(f ledger.Filter, states []string, collection, after string) (ledger.Filter, error) {
	for _, text := range states {
		state, all := operation.State(strings.ToUpper(text)), operation.States()
		if !state.Known() {
			return f, fmt.Errorf("--state: %q is not one of %v%s", text, all, diag.DidYouMean(text, all))
		}
		if !slices.Contains(f.States, state) {
			f.States = append(f.States, state)
		}
	}
	if _, err := path.Match(f.JobKind, ""); err != nil {
		return f, fmt.Errorf("--job-kind: %w", err)
	}
	if collection != "" {
		var ok bool
		if f.Collection, ok = operation.ParseCollection(collection); !ok {
			all := operation.Collections()
			return f, fmt.Errorf("--collection: %q is not one of %v%s", collection, all, diag.DidYouMean(collection, all))
		}
	}
	if f.Limit < 1 {
		return f, fmt.Errorf("--limit: it must be at least 1, not %d", f.Limit)
	}
	var err error
	f.After, err = parseCursor(after)
	return f, err
}

func printOperations(w io.Writer, page ledger.Page[operation.Record]) error {
	if len(page.Items)+len(page.Broken) == 0 {
		_, err := fmt.Fprintln(w, "no operations")
		return err
	}
	rows := make([][]any, len(page.Items))
	for i, r := range page.Items {
		rows[i] = []any{
			phrase.Safe(string(r.Key)), phrase.State(r), phrase.Safe(r.JobKind), r.SubmittedAt, r.SettledAt,
			phrase.Safe(string(r.SettledBy)), r.Attempts, phrase.Effects(r),
		}
	}
	headings := []any{"OPERATION", "STATE", "JOB KIND", "SUBMITTED", "SETTLED", "BY", "LOOK-UPS", "EFFECTS"}
	return printPage(w, headings, rows, page.Broken, page.Next)
}
