package operations

import (
	"fmt"
	"io"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// printPending prints the operations that are waited for, and why.
func printPending(w io.Writer, s terminal.Screen, page ledger.Page[operation.Record]) error {
	if len(page.Items)+len(page.Broken) == 0 {
		_, err := fmt.Fprintln(w, "no operation is pending")
		return err
	}
	rows := make([][]any, len(page.Items))
	for i, r := range page.Items {
		rows[i] = []any{
			phrase.Safe(string(r.Key)), phrase.State(r), phrase.Safe(r.JobKind), phrase.Span(s.Now.Sub(r.SubmittedAt)),
			r.LookUps, r.DueAt,
			phrase.WhyPending(r, s.Now),
		}
	}
	headings := []any{"OPERATION", "STATE", "JOB KIND", "AGE", "LOOK-UPS", "NEXT LOOK-UP", "WHY"}
	return terminal.PrintPage(w, s, headings, rows, page.Broken)
}
