package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A decider is a command that records an operator's decision.
type decider struct {
	outside environment
	store   string
	ledger.Abandonment
}

// flags adds the store, who decides and why, and how that is printed.
func (d *decider) flags(cmd *cobra.Command) {
	storeFlag(cmd, &d.store)
	overrideFlag(cmd, &d.outside)
	jsonFlag(cmd, &d.outside)
	cmd.Flags().StringVar(&d.Why, "reason", "", "why; required")
	cmd.Flags().StringVar(&d.By, "by", "", "who decided (default the user of this machine)")
}

// deciding opens the ledger for record. It refuses a decision without a reason, and fills in who
// decided.
func (d *decider) deciding(ctx context.Context, record func(*actions.Actions) error) (err error) {
	if strings.TrimSpace(d.Why) == "" {
		return usageError{errors.New("--reason: give the reason; it is recorded")}
	}
	if d.By == "" {
		if d.By, err = operatorName(); err != nil {
			return err
		}
	}
	return change(ctx, d.outside, d.store, func(w writer) error {
		return record(&actions.Actions{Ledger: w.Ledger})
	})
}

// decide records a decision, and prints the one that stands: what record returns as JSON, or in words.
func (d *decider) decide(
	ctx context.Context, record func(*actions.Actions) (asJSON any, words string, err error),
) error {
	return d.deciding(ctx, func(a *actions.Actions) error {
		asJSON, words, err := record(a)
		switch {
		case err != nil:
			return withRemedy(err)
		case d.outside.json:
			return printJSON(d.outside.out, asJSON)
		}
		_, err = fmt.Fprintln(d.outside.out, words)
		return err
	})
}

// decideOn is decide about the operation that an argument names.
func (d *decider) decideOn(
	ctx context.Context, arg string,
	record func(*actions.Actions, operation.Key) (asJSON any, words string, err error),
) error {
	name, err := parseOperationName(arg)
	if err != nil {
		return err
	}
	return d.decide(ctx, func(a *actions.Actions) (any, string, error) {
		key, err := name.key(ctx, a.Ledger)
		if err != nil {
			return nil, "", err
		}
		return record(a, key)
	})
}
