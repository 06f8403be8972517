package operations

import (
	"fmt"
	"io"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// printConflicts prints the conflicts that no operator has resolved: the state that stands, and the
// other.
func printConflicts(w io.Writer, s terminal.Screen, page ledger.Page[operation.Record]) error {
	if len(page.Items)+len(page.Broken) == 0 {
		_, err := fmt.Fprintln(w, "no conflict waits for an operator")
		return err
	}
	rows := make([][]any, len(page.Items))
	for i, r := range page.Items {
		rows[i] = []any{
			phrase.Safe(string(r.Key)), phrase.State(r), phrase.Safe(string(r.SettledBy)), r.SettledAt,
			phrase.Safe(string(r.ConflictState)), phrase.Safe(string(r.ConflictBy)), r.ConflictAt, phrase.Safe(r.JobKind),
			phrase.Effects(r),
		}
	}
	headings := []any{
		"OPERATION", "STANDS", "BY", "SETTLED", "NOT APPLIED", "BY", "CAME", "JOB KIND", "EFFECTS",
	}
	return terminal.PrintPage(w, s, headings, rows, page.Broken)
}
