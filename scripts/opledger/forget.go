package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

func newForget(outside environment) *cobra.Command {
	var store string
	var yes, intent bool
	cmd := &cobra.Command{
		Use:   "forget NAME",
		Short: "Delete an operation and everything recorded about it",
		Long: "Permanently deletes an operation's record, its deliveries, its effects and its intent. It lists them\n" +
			"and asks first. If the operation is registered or adopted again later, its effects run again: delete\n" +
			"the job at Gemini, too. With --intent, NAME is the correlation id of an intent without an operation.",
		Example: "  opledger forget batches/abc123\n" +
			"  opledger forget batches/abc123 --yes\n" +
			"  opledger forget --intent nightly-2026-11-21",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := parseOperationName(args[0])
			if err != nil && !intent {
				return err
			}
			l, closeStore, err := openLedger(cmd.Context(), outside, store, false)
			if err != nil {
				return err
			}
			ask := func(question string) error {
				if yes {
					return nil
				}
				return agree(cmd.Context(), outside, question, "nothing was deleted")
			}
			if intent {
				err = forgetIntent(cmd.Context(), outside, l, args[0], ask)
			} else {
				err = forget(cmd.Context(), outside, l, name, ask)
			}
			return errors.Join(withRemedy(err), closeStore())
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().BoolVar(&intent, "intent", false, "NAME is a correlation id: delete its intent, which has no operation")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	jsonFlag(cmd, &outside)
	return cmd
}

// forget lists what is recorded about an operation, and deletes it if agree returns nil.
func forget(
	ctx context.Context, outside environment, l *ledger.Ledger, name operationName, agree func(string) error,
) error {
	key, err := name.key(ctx, l)
	if err != nil {
		return err
	}
	story, err := l.Show(ctx, key)
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
	n, err := l.Forget(ctx, key)
	if err != nil {
		return err
	}
	if outside.json {
		return printJSON(outside.out, map[string]any{"operation": key, "deleted": n})
	}
	_, err = fmt.Fprintf(outside.out, "%s forgotten: %s deleted\n", phrase.Safe(string(key)),
		phrase.Counted(n, "document"))
	return err
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

// forgetIntent prints the intent of a correlation id, and deletes it if agree returns nil.
func forgetIntent(
	ctx context.Context, outside environment, l *ledger.Ledger, id string, agree func(string) error,
) error {
	intent, err := l.Intent(ctx, id)
	if err != nil {
		return err
	}
	switch err := l.CanForgetIntent(ctx, intent); {
	case errors.Is(err, ledger.ErrIntentInUse):
		return fmt.Errorf("%w; opledger forget %s deletes both", err, intent.Operation)
	case err != nil:
		return err
	}
	about := fmt.Sprintf("%s: %s", phrase.Safe(id), intent.State)
	if intent.Operation != "" {
		about += " with " + phrase.Safe(string(intent.Operation))
	}
	if intent.Waiting() {
		about += "; a job that was submitted with it stays unregistered"
	}
	if err := agree("The intent " + about + ". Delete it permanently?"); err != nil {
		return err
	}
	if err := l.ForgetIntent(ctx, intent); err != nil {
		return err
	}
	if outside.json {
		return printJSON(outside.out, map[string]any{"intent": id, "deleted": 1})
	}
	_, err = fmt.Fprintf(outside.out, "intent %s forgotten\n", phrase.Safe(id))
	return err
}
