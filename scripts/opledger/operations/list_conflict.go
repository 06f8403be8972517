package operations

import (
	"io"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// printConflicts prints the conflicts that no operator has resolved: the state that stands, and the
// other.
func printConflicts(w io.Writer, s terminal.Screen, page ledger.Page[operation.Record]) error {
	headings := []any{
		"OPERATION", "STANDS", "BY", "SETTLED", "NOT APPLIED", "BY", "CAME", "JOB KIND", "EFFECTS",
	}
	return terminal.PrintPage(w, s, page, "no conflict waits for an operator", headings, func(r operation.Record) []any {
		return []any{
			phrase.Safe(string(r.Key)), phrase.State(r), phrase.Safe(string(r.SettledBy)), r.SettledAt,
			phrase.Safe(string(r.ConflictState)), phrase.Safe(string(r.ConflictBy)), r.ConflictAt, phrase.Safe(r.JobKind),
			phrase.Effects(r),
		}
	})
}
