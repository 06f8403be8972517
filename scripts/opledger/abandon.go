package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

func newAbandon(outside environment) *cobra.Command {
	var store, effect string
	var decision ledger.Abandonment
	cmd := &cobra.Command{
		Use:   "abandon NAME --reason TEXT",
		Short: "Stop waiting for an operation, or for a dead effect",
		Long: "Ends the waiting for a pending operation: it is looked up no more and alerts no more. Its state stays as it is, and a\n" +
			"completion that arrives all the same counts. With --effect, waives an effect that is dead, with all of its items that failed.\n" +
			"Who, when and why is recorded.",
		Example: "  opledger abandon batches/abc123 --reason 'submitted twice'\n" +
			"  opledger abandon batches/abc123 --effect publish --reason 'published by hand'",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := parseNamed(args[0])
			if err != nil {
				return err
			}
			if strings.TrimSpace(decision.Why) == "" {
				return usageError{errors.New("--reason: say why; whoever reads the record will want to know")}
			}
			if decision.By == "" {
				if decision.By, err = whoTypes(); err != nil {
					return err
				}
			}
			return change(cmd.Context(), outside, store, func(w writer) error {
				key, err := name.key(cmd.Context(), w.Ledger)
				if err != nil {
					return err
				}
				return abandon(cmd.Context(), outside, w.Ledger, key, effect, decision)
			})
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().StringVar(&decision.Why, "reason", "", "why; required")
	cmd.Flags().StringVar(&decision.By, "by", "", "who decided (default the user of this machine)")
	cmd.Flags().StringVar(&effect, "effect", "", "waive this dead effect, instead of the waiting for the operation")
	return cmd
}

func abandon(ctx context.Context, outside environment, l *ledger.Ledger, key operation.Key, effect string, a ledger.Abandonment) error {
	what := string(key)
	began, err := l.Now(ctx)
	if err != nil {
		return err
	}
	var stands operation.Abandonment
	if effect == "" {
		stands, err = l.Abandon(ctx, key, a)
	} else {
		what = "effect " + effect + " of " + what
		stands, err = l.AbandonEffect(ctx, key, effect, a)
	}
	if errors.Is(err, ledger.ErrNotFound) && effect != "" {
		rec, readErr := recordOf(ctx, l, key)
		if readErr == nil {
			return noEffect(rec, effect, "")
		}
		err = readErr
	}
	if err != nil {
		return whereToLook(err)
	}
	already, yours := "", ""
	if stands.At.Before(operation.Instant(began)) && (stands.By != a.By || stands.Why != a.Why) {
		already, yours = "already ", "; yours was not recorded"
	}
	_, err = fmt.Fprintf(outside.out, "%s %sabandoned by %s at %s: %s%s\n",
		dash(what), already, dash(stands.By), localTime(stands.At), dash(stands.Why), yours)
	return err
}
