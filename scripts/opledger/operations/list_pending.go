package operations

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// printPending prints the operations that are waited for, and why; none where there are none.
func printPending(
	w io.Writer, s terminal.Screen, page ledger.Page[operation.Record], held map[operation.Key]*job.Hold,
	none, store string,
) error {
	headings := []any{"OPERATION", "STATE", "JOB KIND", "AGE", "LOOK-UPS", "NEXT LOOK-UP", "WHY"}
	correlated := showsCorrelation(s, page)
	if correlated {
		headings = slices.Insert(headings, 2, any("CORRELATION ID"))
	}
	return terminal.PrintPage(w, s, page, none, headings, func(r operation.Record) []any {
		row := []any{
			phrase.Safe(string(r.Key)), stateOf(r, held), phrase.Safe(r.JobKind), phrase.Span(s.Now.Sub(r.SubmittedAt)),
			r.LookUps, r.DueAt, why(r, held, s.Now, store),
		}
		if correlated {
			row = slices.Insert(row, 2, any(phrase.Safe(r.CorrelationID)))
		}
		return row
	})
}

func why(r operation.Record, held map[operation.Key]*job.Hold, now time.Time, store string) string {
	if hold := held[r.Key]; hold != nil {
		return phrase.Held(r.Key, hold, store)
	}
	return phrase.WhyPending(r, now, store)
}

// heldJobs returns why the jobs of a page are held that are, in one read if there is a job that has not ended.
func heldJobs(
	ctx context.Context, l *ledger.Ledger, page ledger.Page[operation.Record],
) (map[operation.Key]*job.Hold, error) {
	held := map[operation.Key]*job.Hold{}
	if !slices.ContainsFunc(page.Items, func(r operation.Record) bool {
		return r.Collection == operation.Jobs && !r.Settled()
	}) {
		return held, nil
	}
	running, err := l.Jobs.Running(ctx)
	for _, h := range running.HeldJobs() {
		held[h.Job] = &h.Hold
	}
	return held, err
}

// stateOf is the state of an operation, with why it is held if it is a job that is.
func stateOf(r operation.Record, held map[operation.Key]*job.Hold) string {
	state := phrase.State(r)
	if hold := held[r.Key]; hold != nil && !r.Settled() {
		state += " (held: " + phrase.Safe(string(hold.Reason)) + ")"
	}
	return state
}
