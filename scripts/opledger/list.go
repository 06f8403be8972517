package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

func newList(outside environment) *cobra.Command {
	var store, state, collection, after string
	var asJSON, intents bool
	filter := ledger.Filter{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List operations, newest first",
		Long: "Lists operations, newest first; with --pending those that are waited for, and why they still are; with --dead those with an\n" +
			"effect that is dead, and alerts that are dead; with --intents what submitters said they would submit and nobody has found yet." +
			"\nA document that cannot be read, or is another program's, is left alone and has a row that says so.",
		Example: "  opledger list\n" +
			"  opledger list --state FAILED --json\n" +
			"  opledger list --pending\n" +
			"  opledger list --dead\n" +
			"  opledger list --intents",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if filter, err = parseFilter(filter, state, collection, after); err != nil {
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
	cmd.Flags().StringVar(&state, "state", "", "only operations in this state, such as RUNNING")
	cmd.Flags().StringVar(&collection, "collection", "", "only operations of this collection, such as batches")
	cmd.Flags().BoolVar(&filter.Pending, "pending", false, "only operations that are waited for, the next to be looked up first")
	cmd.Flags().BoolVar(&filter.Dead, "dead", false, "only operations, and what else has alerts, with an effect that is dead")
	cmd.Flags().BoolVar(&intents, "intents", false, "the intents whose operation is looked for, the one that is looked at next first")
	cmd.Flags().IntVar(&filter.Limit, "limit", 50, "at most so many")
	cmd.Flags().StringVar(&after, "after", "", "continue behind a page: what it said to pass here")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("pending", "dead")
	for _, other := range []string{"pending", "dead", "state", "collection"} {
		cmd.MarkFlagsMutuallyExclusive("intents", other)
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
		return printList(w, page)
	}
	now, err := l.Now(ctx)
	if err != nil {
		return err
	}
	return printPending(w, page, now)
}

// pageJSON is a page as JSON tells it. Nothing is an empty list, not null.
func pageJSON[T any](what string, items []T, broken []ledger.Broken, next ledger.Cursor) map[string]any {
	told := map[string]any{what: append([]T{}, items...), "next": formatCursor(next)}
	if len(broken) > 0 {
		told["broken"] = broken
	}
	return told
}

func parseFilter(f ledger.Filter, state, collection, after string) (ledger.Filter, error) {
	f.State = operation.State(strings.ToUpper(state))
	if state != "" && !f.State.Known() {
		return f, fmt.Errorf("--state: %q is not one of %v%s", state, operation.States(), diag.DidYouMean(state, operation.States()))
	}
	if collection != "" {
		var ok bool
		if f.Collection, ok = operation.ParseCollection(collection); !ok {
			return f, fmt.Errorf("--collection: %q is not one of %v%s", collection, operation.Collections(), diag.DidYouMean(collection, operation.Collections()))
		}
	}
	if f.Limit < 1 {
		return f, fmt.Errorf("--limit: it must be at least 1, not %d", f.Limit)
	}
	var err error
	f.After, err = parseCursor(after)
	return f, err
}

// formatCursor makes a text of a cursor that can be typed; the zero Cursor is empty.
func formatCursor(c ledger.Cursor) string {
	if c.Path == "" {
		return ""
	}
	text, _ := json.Marshal(c) // a time and a string
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseCursor(text string) (c ledger.Cursor, err error) {
	if text == "" {
		return c, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil || c.Path == "" {
		return c, fmt.Errorf("--after: %q is not what a list said to pass here", text)
	}
	return c, nil
}

func printList(w io.Writer, page ledger.Page[operation.Record]) error {
	if len(page.Items)+len(page.Broken) == 0 {
		_, err := fmt.Fprintln(w, "no operations")
		return err
	}
	rows := make([][]any, len(page.Items))
	for i, r := range page.Items {
		rows[i] = []any{
			dash(string(r.Key)), stateWord(r), dash(r.JobKind), localTime(r.SubmittedAt), localTime(r.SettledAt),
			dash(string(r.SettledBy)), r.Attempts, effectWords(r),
		}
	}
	return printTable(w, "OPERATION\tSTATE\tJOB KIND\tSUBMITTED\tSETTLED\tBY\tLOOK-UPS\tEFFECTS", rows, page.Broken, page.Next)
}

// printTable prints rows below their headings, one for each document that is left alone, and how to go on where there is more.
func printTable(w io.Writer, headings string, rows [][]any, broken []ledger.Broken, next ledger.Cursor) error {
	for _, b := range broken {
		rows = append(rows, []any{dash(string(b.Path)), unreadable(b)})
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(table, headings)
	for _, row := range rows {
		_, lineErr := fmt.Fprintf(table, strings.TrimSuffix(strings.Repeat("%v\t", len(row)), "\t")+"\n", row...)
		err = errors.Join(err, lineErr)
	}
	err = errors.Join(err, table.Flush())
	if next.Path != "" {
		_, lineErr := fmt.Fprintf(w, "more: --after %s\n", formatCursor(next))
		err = errors.Join(err, lineErr)
	}
	return err
}

// unreadable says of a document that it is left alone, and why.
func unreadable(b ledger.Broken) string { return "left alone: " + dash(b.Err.Error()) }

// stateWord is the state, and whether nobody registered the operation, or somebody ended the waiting for it.
func stateWord(r operation.Record) string {
	switch {
	case r.Version == 0:
		return "no record"
	case !r.Registered:
		return string(r.State) + " (unregistered)"
	case r.Abandoned != nil && !r.Settled():
		return string(r.State) + " (abandoned)"
	default:
		return string(r.State)
	}
}

func effectWords(r operation.Record) string {
	words := make([]string, 0, len(r.Effects))
	for name, status := range r.Effects {
		words = append(words, name+" "+string(status))
	}
	slices.Sort(words)
	return dash(strings.Join(words, ", "))
}
