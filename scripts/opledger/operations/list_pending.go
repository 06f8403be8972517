package operations

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// printPending prints the operations that are waited for, and why. The plan of each job is read for that.
func printPending(
	ctx context.Context, w io.Writer, l *ledger.Ledger, s terminal.Screen, page ledger.Page[operation.Record],
) error {
	held := map[operation.Key]string{}
	for _, r := range page.Items {
		if r.Collection != operation.Jobs {
			continue
		}
		j, err := l.Jobs.Read(ctx, r.Key)
		_, broken := errors.AsType[ledger.Broken](err)
		switch {
		case err != nil && !broken && !errors.Is(err, ledger.ErrNoJob):
			return err
		case err == nil && j.Held():
			held[r.Key] = phrase.Held(r.Key, j.Hold)
		}
	}
	headings := []any{"OPERATION", "STATE", "JOB KIND", "AGE", "LOOK-UPS", "NEXT LOOK-UP", "WHY"}
	return terminal.PrintPage(w, s, page, "no operation is pending", headings, func(r operation.Record) []any {
		return []any{
			phrase.Safe(string(r.Key)), phrase.State(r), phrase.Safe(r.JobKind), phrase.Span(s.Now.Sub(r.SubmittedAt)),
			r.LookUps, r.DueAt, cmp.Or(held[r.Key], phrase.WhyPending(r, s.Now)),
		}
	})
}
