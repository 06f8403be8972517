package operations

import (
	"io"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// printPending prints the operations that are waited for, and why.
func printPending(w io.Writer, s terminal.Screen, page ledger.Page[operation.Record]) error {
	headings := []any{"OPERATION", "STATE", "JOB KIND", "AGE", "LOOK-UPS", "NEXT LOOK-UP", "WHY"}
	return terminal.PrintPage(w, s, page, "no operation is pending", headings, func(r operation.Record) []any {
		return []any{
			phrase.Safe(string(r.Key)), phrase.State(r), phrase.Safe(r.JobKind), phrase.Span(s.Now.Sub(r.SubmittedAt)),
			r.LookUps, r.DueAt, phrase.WhyPending(r, s.Now),
		}
	})
}
