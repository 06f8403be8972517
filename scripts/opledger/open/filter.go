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

// A Filter chooses operations by flags.
type Filter struct {
	ledger.Filter
	states     []string // as typed, like collection
	collection string
}

// Add adds the flags to a command.
func (f *Filter) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.states, "state", nil,
		"only operations in this state, such as RUNNING; several: FAILED,EXPIRED")
	flags.StringVar(&f.collection, "collection", "", "only operations of this collection, such as batches or jobs")
	flags.StringVar(&f.JobKind, "job-kind", "", "only operations of this job kind, a pattern such as 'nightly-*'")
	terminal.Selectors(cmd, "state", "collection", "job-kind")
}

// Collections returns every collection of a ledger: those of Gemini, and its jobs.
func Collections() []operation.Collection { return append(operation.Collections(), operation.Jobs) }

// Narrows reports whether one of the flags is given.
func (f *Filter) Narrows() bool { return len(f.states) > 0 || f.collection != "" || f.JobKind != "" }

// Parse adds to the filter what was typed.
func (f *Filter) Parse() error {
	for _, text := range f.states {
		state, all := operation.State(strings.ToUpper(text)), operation.States()
		if !state.Known() {
			return fmt.Errorf("--state: it must be %s, not %s%s", diag.OneOf(all), diag.Quote(text),
				diag.DidYouMean(text, all))
		}
		if !slices.Contains(f.States, state) {
			f.States = append(f.States, state)
		}
	}
	if _, err := path.Match(f.JobKind, ""); err != nil {
		return fmt.Errorf("--job-kind: %w", err)
	}
	if f.collection != "" {
		var ok bool
		if f.Collection, ok = operation.ParseCollection(f.collection); !ok {
			all := Collections()
			return fmt.Errorf("--collection: it must be %s, not %s%s", diag.OneOf(all), diag.Quote(f.collection),
				diag.DidYouMean(f.collection, all))
		}
	}
	return nil
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
