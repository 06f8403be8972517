// Package operations has the commands about operations: list, show, results, wait, reconcile, cancel, abandon,
// resolve and forget, a file each, and status, which counts them. What they say of jobs alone is in files with
// job in their name; release and usage are about jobs.
package operations

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A listing is one call of list.
type listing struct {
	filter open.Filter
	// late and unregistered choose operations that are so at the time of the call.
	late, unregistered bool
	asJSON             bool
	without            string // an effect that was left out; empty: any
	width              int    // of the terminal; 0: none, or --wide
	store              string // what commands end with
}

// NewList makes opledger list.
func NewList(outside terminal.Environment) *cobra.Command {
	var from terminal.PageFlags
	var q listing
	var wide, watch bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List operations, newest first",
		Long: "Lists operations, newest first. --pending lists those that have not ended, and why. --late lists\n" +
			"those of them that are pending for too long, by age. --dead lists the dead effects, also of alerts, with\n" +
			"when and why each died; with --json, partial is true where errors counts those of one page alone.\n" +
			"--conflict lists operations that ended in two ways: the first state stands, and the other is beside it.\n" +
			"--unregistered lists operations that only events reported: none of their effects runs. opledger resolve\n" +
			"takes an operation off the last two. --without lists the operations that ended while an effect was left\n" +
			"out: serve, or a deployment, began without it, and earlier it was planned. opledger replay --without plans\n" +
			"it for them, once it is planned again. On a terminal rows are cut to its width and times are relative;\n" +
			"--wide shows all. A document that cannot be read, or that another program wrote, is left alone and has\n" +
			"a row that says so.",
		Example: "  opledger list\n" +
			"  opledger list --state FAILED,EXPIRED --job-kind 'nightly-*' --json\n" +
			"  opledger list --pending --watch\n" +
			"  opledger list --late\n" +
			"  opledger list --dead\n" +
			"  opledger list --conflict",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			q.filter.After, err = from.Parse()
			if err := errors.Join(q.filter.Parse(), err); err != nil {
				return terminal.Usage(err)
			}
			q.filter.Limit = from.Limit
			q.width, q.asJSON, q.store = outside.Width(wide), outside.JSON, open.NamedFlag(outside)
			return open.Reader(cmd.Context(), outside, func(l *ledger.Ledger) error {
				return terminal.Repeated(cmd.Context(), outside, watch,
					func(w io.Writer) error { return q.print(cmd.Context(), w, l) })
			})
		},
	}
	open.LedgerFlags(cmd, &outside)
	q.filter.Add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&q.filter.Pending, "pending", false,
		"only pending operations, in the order of their next look-up")
	flags.BoolVar(&q.filter.Dead, "dead", false, "dead effects, also those of alerts")
	flags.BoolVar(&q.late, "late", false,
		"only operations that are pending for too long, or that Gemini does not know; the oldest first")
	flags.BoolVar(&q.unregistered, "unregistered", false,
		"only unregistered operations, which an event reported; the newest first, without resolved ones")
	flags.BoolVar(&q.filter.Conflict, "conflict", false,
		"only operations that ended in two ways; the newest report first, without resolved ones")
	flags.StringVar(&q.without, "without", "",
		"only operations that ended without this `EFFECT`, while it was left out; the last to end first")
	terminal.Selectors(cmd, "without")
	from.Add(cmd, "operations")
	terminal.WatchFlag(cmd, &watch)
	terminal.WideFlag(cmd, &wide)
	terminal.Exclusive(cmd, "pending", "dead", "conflict", "late", "unregistered", "without")
	return cmd
}

// print prints one page of the list.
func (q listing) print(ctx context.Context, w io.Writer, l *ledger.Ledger) error {
	s := terminal.Screen{Width: q.width}
	var err error
	if s.Width > 0 || q.filter.Pending || q.late || q.unregistered {
		if s.Now, err = l.Now(ctx); err != nil {
			return err
		}
	}
	if q.late {
		q.filter.Late = s.Now
	}
	if q.unregistered {
		q.filter.Unregistered = s.Now
	}
	if q.without != "" {
		if q.filter.Without, err = l.Effects.FindLeftOut(ctx, q.without); err != nil {
			return err
		}
	}
	page, err := q.find(ctx, l)
	if err != nil {
		return err
	}
	held, err := heldJobs(ctx, l, page)
	if err != nil {
		return err
	}
	switch {
	case q.filter.Dead:
		return q.printDead(ctx, w, l, s, page)
	case q.asJSON:
		return terminal.PrintJSON(w, operationsJSON(page, page.Broken, held))
	case q.late:
		err = printPending(w, s, page, held, "no operation is pending for too long", q.store)
	case q.filter.Pending:
		err = printPending(w, s, page, held, "no operation is pending", q.store)
	case q.filter.Conflict:
		err = printConflicts(w, s, page)
	default:
		err = printOperations(w, s, page, held)
	}
	return errors.Join(err, q.printMore(ctx, w, l, page))
}

// find returns the page. With a job kind one call of List may find fewer than the limit.
func (q listing) find(ctx context.Context, l *ledger.Ledger) (page ledger.Page[operation.Record], err error) {
	for filter := q.filter.Filter; ; filter.After = page.Next {
		filter.Limit = q.filter.Limit - len(page.Items) - len(page.Broken)
		found, err := l.Operations.List(ctx, filter)
		if err != nil {
			return page, err
		}
		page.Items, page.Broken = append(page.Items, found.Items...), append(page.Broken, found.Broken...)
		page.Next = found.Next
		if page.Next.Path == "" || len(page.Items)+len(page.Broken) >= q.filter.Limit {
			return page, nil
		}
	}
}

// PrintMore ends a page of operations. Not every filter is counted.
func (q listing) printMore(
	ctx context.Context, w io.Writer, l *ledger.Ledger, page ledger.Page[operation.Record],
) error {
	total := func() (ledger.Total, error) { return l.Operations.Count(ctx, q.filter.Filter) }
	if !q.filter.Counted() {
		total = nil
	}
	return terminal.PrintMore(w, page, total)
}

func printOperations(
	w io.Writer, s terminal.Screen, page ledger.Page[operation.Record], held map[operation.Key]*job.Hold,
) error {
	headings := []any{"OPERATION", "STATE", "JOB KIND", "SUBMITTED", "SETTLED", "EFFECTS"}
	if s.Width == 0 {
		headings = slices.Insert(headings, 5, any("BY"), any("LOOK-UPS"))
	}
	correlated := showsCorrelation(s, page)
	if correlated {
		headings = slices.Insert(headings, 2, any("CORRELATION ID"))
	}
	ofJobs := slices.ContainsFunc(page.Items, operation.Record.IsPart)
	if ofJobs {
		headings = slices.Insert(headings, 1, any("BATCH OF"))
	}
	return terminal.PrintPage(w, s, page, "no operations", headings, func(r operation.Record) []any {
		row := []any{
			phrase.Safe(string(r.Key)), stateOf(r, held), phrase.Safe(r.JobKind), r.SubmittedAt, r.SettledAt, phrase.Effects(r),
		}
		if s.Width == 0 {
			row = slices.Insert(row, 5, any(phrase.Safe(string(r.SettledBy))), any(r.LookUps))
		}
		if correlated {
			row = slices.Insert(row, 2, any(phrase.Safe(r.CorrelationID)))
		}
		if ofJobs {
			row = slices.Insert(row, 1, any(partOf(r)))
		}
		return row
	})
}

// showsCorrelation reports whether a page has a column of correlation ids. A screen has no room for an empty one; that
// of a job's batch is its part.
func showsCorrelation(s terminal.Screen, page ledger.Page[operation.Record]) bool {
	return s.Width == 0 || slices.ContainsFunc(page.Items, func(r operation.Record) bool {
		return r.CorrelationID != "" && !r.IsPart()
	})
}

// partOf is the part of a job whose batch an operation is.
func partOf(r operation.Record) string {
	if r.IsPart() {
		return phrase.Safe(r.CorrelationID)
	}
	return "-"
}

// A report is an operation as JSON, with why it is held if it is a job that is.
type report struct {
	operation.Report
	Hold *job.Hold `json:"hold,omitempty"`
}

// operationsJSON is a page of operations as JSON.
func operationsJSON(
	page ledger.Page[operation.Record], broken []ledger.Broken, held map[operation.Key]*job.Hold,
) map[string]any {
	reports := make([]report, len(page.Items))
	for i, rec := range page.Items {
		reports[i] = report{Report: rec.Report()}
		if !rec.Settled() {
			reports[i].Hold = held[rec.Key]
		}
	}
	return terminal.PageJSON("operations", reports, broken, page.Next)
}
