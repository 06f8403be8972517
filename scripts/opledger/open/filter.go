package open

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// FilterFlags adds the flags that choose operations.
func FilterFlags(cmd *cobra.Command, filter *ledger.Filter, states *[]string, collection *string) {
	flags := cmd.Flags()
	flags.StringSliceVar(states, "state", nil, "only operations in this state, such as RUNNING; several: FAILED,EXPIRED")
	flags.StringVar(collection, "collection", "", "only operations of this collection, such as batches or jobs")
	flags.StringVar(&filter.JobKind, "job-kind", "", "only operations of this job kind, a pattern such as 'nightly-*'")
	terminal.Selectors(cmd, "state", "collection", "job-kind")
}

// Collections returns every collection of a ledger: those of Gemini, and its jobs.
func Collections() []operation.Collection { return append(operation.Collections(), operation.Jobs) }

// ParseFilter adds to a filter what was typed.
func ParseFilter(f ledger.Filter, states []string, collection string) (ledger.Filter, error) {
	for _, text := range states {
		state, all := operation.State(strings.ToUpper(text)), operation.States()
		if !state.Known() {
			return f, fmt.Errorf("--state: it must be %s, not %s%s", diag.OneOf(all), diag.Quote(text),
				diag.DidYouMean(text, all))
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
			all := Collections()
			return f, fmt.Errorf("--collection: it must be %s, not %s%s", diag.OneOf(all), diag.Quote(collection),
				diag.DidYouMean(collection, all))
		}
	}
	return f, nil
}

// EachPage calls do with each page of the operations that a filter finds.
func EachPage(
	ctx context.Context, l *ledger.Ledger, filter ledger.Filter, do func(ledger.Page[operation.Record]) error,
) error {
	for {
		page, err := l.Operations.List(ctx, filter)
		if err == nil {
			err = do(page)
		}
		if filter.After = page.Next; err != nil || page.Next.Path == "" {
			return err
		}
	}
}
