package operations

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/decision"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
)

// NewForget makes opledger forget.
func NewForget(outside terminal.Environment) *cobra.Command {
	var store string
	var yes bool
	cmd := &cobra.Command{
		Use:   "forget NAME",
		Short: "Delete an operation and everything recorded about it",
		Long: "Permanently deletes an operation's record, its deliveries, its effects and its intent. It lists them\n" +
			"and asks first. If the operation is registered or adopted again later, its effects run again: delete\n" +
			"the job at Gemini, too.",
		Example: "  opledger forget batches/abc123\n" +
			"  opledger forget batches/abc123 --yes",
		Args: terminal.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := open.ParseOperationName(args[0])
			if err != nil {
				return err
			}
			return decision.Forgetting(cmd, outside, store, yes, func(l *ledger.Ledger, agree func(string) error) error {
				return forget(cmd.Context(), outside, l, name, agree)
			})
		},
	}
	open.StoreFlag(cmd, &store)
	decision.YesFlag(cmd, &yes)
	terminal.JSONFlag(cmd, &outside)
	return cmd
}

// forget lists what is recorded about an operation, and deletes it if agree returns nil.
func forget(
	ctx context.Context, outside terminal.Environment, l *ledger.Ledger, name open.OperationName, agree func(string) error,
) error {
	key, err := name.KeyIn(ctx, l)
	if err != nil {
		return err
	}
	story, err := l.Operations.Show(ctx, key)
	there := contents(story)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return err
	case err != nil: // it can be deleted without being read
		there = "what is recorded cannot be read: " + phrase.Safe(err.Error())
	}
	question := fmt.Sprintf("%s: %s. Delete all of it permanently?", phrase.Safe(string(key)), there)
	if err := agree(question); err != nil {
		return err
	}
	n, err := l.Operations.Forget(ctx, key)
	if err != nil {
		return err
	}
	return outside.Print(map[string]any{"operation": key, "deleted": n}, "%s forgotten: %s deleted",
		phrase.Safe(string(key)), phrase.Counted(n, "document"))
}

// contents lists what is recorded about an operation.
func contents(s ledger.Story) string {
	words := []string{"no record"}
	if s.Record.Version > 0 {
		words[0] = phrase.State(s.Record)
	}
	words = append(words, fmt.Sprintf("deliveries: %d", len(s.Deliveries)))
	effects := make([]string, len(s.Effects))
	for i, e := range s.Effects {
		effects[i] = phrase.Safe(e.Name) + " " + phrase.EffectState(e)
		if e.Progress != nil {
			effects[i] += " with items"
		}
	}
	words = append(words, "effects: "+phrase.Safe(strings.Join(effects, ", ")))
	for _, b := range s.Broken {
		words = append(words, "unreadable: "+phrase.Safe(b.Error()))
	}
	if s.Record.CorrelationID != "" {
		words = append(words, "intent: "+phrase.Safe(s.Record.CorrelationID))
	}
	return strings.Join(words, "; ")
}
