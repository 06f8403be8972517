// Package decision is what the commands share that record what an operator decided, or delete: who, when and
// why, about one of them or about many.
package decision

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Decider is a command that records an operator's decision.
type Decider struct {
	Outside terminal.Environment
	// AsksGemini: the command asks Gemini, too, with the settings of a pass.
	AsksGemini bool
	// Unasked is why no serve asked Gemini in its place; nil: none was to.
	Unasked error
	// DryRun: of several it only says which they are.
	DryRun bool

	ledger.Decision
}

// Flags adds the store, who decides and why, and how that is printed.
func (d *Decider) Flags(cmd *cobra.Command) {
	open.WriterFlags(cmd, &d.Outside)
	cmd.Flags().StringVar(&d.Why, "reason", "", "why; required")
	terminal.ByFlag(cmd, &d.By, "who decided")
}

// CheckReason refuses a decision without a reason.
func (d *Decider) CheckReason() error {
	if strings.TrimSpace(d.Why) == "" {
		return terminal.Usage(errors.New("--reason: give the reason; it is recorded"))
	}
	return nil
}

// deciding opens the ledger for record, once the decision has a reason.
func (d *Decider) deciding(ctx context.Context, record func(open.Writer) error) error {
	if err := d.CheckReason(); err != nil {
		return err
	}
	if d.AsksGemini {
		return open.ChangeAtGemini(ctx, d.Outside, d.Unasked, record)
	}
	return open.Change(ctx, d.Outside, record)
}

// Decide records a decision, and prints the one that stands: what record returns as JSON, or in words.
func (d *Decider) Decide(
	ctx context.Context, record func(*actions.Actions) (asJSON any, words string, err error),
) error {
	return d.deciding(ctx, func(w open.Writer) error {
		asJSON, words, err := record(w.Actions())
		if err != nil {
			return open.WithRemedy(err, d.Outside)
		}
		return d.Outside.Print(asJSON, "%s", words)
	})
}

// DecideOn is decide about the operation that an argument names.
func (d *Decider) DecideOn(
	ctx context.Context, arg string,
	record func(*actions.Actions, operation.Key) (asJSON any, words string, err error),
) error {
	name, err := open.ParseOperationName(arg)
	if err != nil {
		return err
	}
	return d.Decide(ctx, func(a *actions.Actions) (any, string, error) {
		key, err := name.KeyIn(ctx, a.Ledger)
		if err != nil {
			return nil, "", err
		}
		return record(a, key)
	})
}
