package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

func newList(outside environment) *cobra.Command {
	var store, state, collection, after string
	var asJSON bool
	filter := ledger.Filter{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List operations, newest first",
		Example: "  opledger list\n" +
			"  opledger list --state FAILED --json\n" +
			"  opledger list --pending",
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
			records, next, err := l.List(cmd.Context(), filter)
			if err = errors.Join(err, closeStore()); err != nil {
				return err
			}
			if asJSON {
				return printJSON(outside.out, map[string]any{"operations": records, "next": formatCursor(next)})
			}
			return printList(outside.out, records, next)
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().StringVar(&state, "state", "", "only operations in this state, such as RUNNING")
	cmd.Flags().StringVar(&collection, "collection", "", "only operations of this collection, such as batches")
	cmd.Flags().BoolVar(&filter.Pending, "pending", false, "only operations that are waited for, the next to be looked up first")
	cmd.Flags().IntVar(&filter.Limit, "limit", 50, "at most so many")
	cmd.Flags().StringVar(&after, "after", "", "continue behind a page: what it said to pass here")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func parseFilter(f ledger.Filter, state, collection, after string) (ledger.Filter, error) {
	f.State = operation.State(strings.ToUpper(state))
	if state != "" && !f.State.Known() {
		return f, fmt.Errorf("--state: %q is not one of %v", state, operation.States())
	}
	if collection != "" {
		var ok bool
		if f.Collection, ok = operation.ParseCollection(collection); !ok {
			return f, fmt.Errorf("--collection: %q is not one of %v", collection, operation.Collections())
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

func printList(w io.Writer, records []operation.Record, next ledger.Cursor) error {
	if len(records) == 0 {
		_, err := fmt.Fprintln(w, "no operations")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "OPERATION\tSTATE\tJOB KIND\tSUBMITTED\tSETTLED\tBY\tLOOK-UPS\tEFFECTS")
	for _, r := range records {
		_, lineErr := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", r.Key, stateWord(r), dash(r.JobKind),
			localTime(r.SubmittedAt), localTime(r.SettledAt), dash(string(r.SettledBy)), r.Attempts, effectWords(r))
		err = errors.Join(err, lineErr)
	}
	err = errors.Join(err, table.Flush())
	if next.Path != "" {
		_, lineErr := fmt.Fprintf(w, "more: --after %s\n", formatCursor(next))
		err = errors.Join(err, lineErr)
	}
	return err
}

// stateWord is the state, and whether nobody registered the operation.
func stateWord(r operation.Record) string {
	if !r.Registered {
		return string(r.State) + " (unregistered)"
	}
	return string(r.State)
}

func effectWords(r operation.Record) string {
	words := make([]string, 0, len(r.Effects))
	for name, status := range r.Effects {
		words = append(words, name+" "+string(status))
	}
	slices.Sort(words)
	return dash(strings.Join(words, ", "))
}
