package operations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A deadEffect is a dead effect as JSON.
type deadEffect struct {
	Operation operation.Key `json:"operation"`
	Effect    string        `json:"effect"`
	DiedAt    time.Time     `json:"diedAt,omitzero"`
	Attempts  int           `json:"attempts"`
	Error     string        `json:"error"`
}

// printDead prints the dead effects of a page of operations, and how many died of each error.
func (q listing) printDead(
	ctx context.Context, w io.Writer, l *ledger.Ledger, s terminal.Screen, page ledger.Page[operation.Record],
) error {
	effects, broken, err := l.Effects.Dead(ctx, page.Items)
	if err != nil {
		return err
	}
	broken = append(page.Broken, broken...)
	groups := phrase.GroupFailures(effects)
	partial := page.Next.Path != "" || q.filter.After.Path != ""
	if q.asJSON {
		fields := operationsJSON(page, broken, nil)
		dead := make([]deadEffect, len(effects))
		for i, e := range effects {
			dead[i] = deadEffect{e.Operation, e.Name, e.DiedAt, e.Attempts, e.LastError}
		}
		fields["effects"], fields["errors"] = dead, groups
		if partial {
			fields["partial"] = true
		}
		return terminal.PrintJSON(w, fields)
	}
	headings := []any{"OPERATION", "EFFECT", "DIED", "ATTEMPTS", "ERROR"}
	dead := ledger.Page[ledger.Effect]{Items: effects, Broken: broken}
	err = terminal.PrintPage(w, s, dead, "no effect is dead", headings, func(e ledger.Effect) []any {
		return []any{phrase.Safe(string(e.Operation)), phrase.Safe(e.Name), e.DiedAt, e.Attempts, phrase.Safe(e.LastError)}
	})
	return errors.Join(err, printFailures(w, s, groups, partial, ""), q.printMore(ctx, w, l, page))
}

// printFailures prints how many effects died of each error. Where partial, further ones may have. of says which
// operations they are of, if not of all.
func printFailures(w io.Writer, s terminal.Screen, groups []phrase.FailureGroup, partial bool, of string) error {
	if len(groups) == 0 {
		return nil
	}
	if of != "" {
		of += ":\n"
	}
	rows := [][]any{{"EFFECTS", "NEWEST", "ERROR"}}
	for _, g := range groups {
		rows = append(rows, []any{overview.AtLeast(partial, fmt.Sprint(g.Count)), g.Newest, g.Failure})
	}
	_, err := fmt.Fprint(w, "\n", of)
	return errors.Join(err, s.Rows(w, rows))
}
