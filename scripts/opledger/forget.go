package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/ledger"
)

func newForget(outside environment) *cobra.Command {
	var store string
	var yes bool
	cmd := &cobra.Command{
		Use:   "forget NAME",
		Short: "Delete an operation with everything under it",
		Long: "Deletes an operation's record, its deliveries, its effects and its intent, for good. Nothing is remembered that would\n" +
			"keep the effects from running, should the operation be registered or adopted once more: delete the job at Gemini, too.",
		Example: "  opledger forget batches/abc123\n" +
			"  opledger forget batches/abc123 --yes",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := parseNamed(args[0])
			if err != nil {
				return err
			}
			l, closeStore, err := openReader(cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			err = forget(cmd.Context(), outside, l, name, yes)
			return errors.Join(err, closeStore())
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func forget(ctx context.Context, outside environment, l *ledger.Ledger, name named, yes bool) error {
	key, err := name.key(ctx, l)
	if err != nil {
		return err
	}
	if !yes && !agreed(outside, fmt.Sprintf("Delete %s with everything under it, for good?", dash(string(key)))) {
		return errors.New("nothing was deleted; answer y, or pass --yes")
	}
	n, err := l.Forget(ctx, key)
	if err != nil {
		return whereToLook(err)
	}
	_, err = fmt.Fprintf(outside.out, "%s forgotten: %s deleted\n", dash(string(key)), counted(n, "document"))
	return err
}
