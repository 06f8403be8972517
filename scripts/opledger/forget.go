package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/ledger"
)

func newForget(outside environment) *cobra.Command {
	var store string
	var yes, intent bool
	cmd := &cobra.Command{
		Use:   "forget NAME",
		Short: "Delete an operation with everything under it",
		Long: "Deletes an operation's record, its deliveries, its effects and its intent, for good: says what is there, and asks. Nothing\n" +
			"is remembered that would keep the effects from running, should the operation be registered or adopted once more: delete\n" +
			"the job at Gemini, too. With --intent, NAME is a correlation id, and an intent that no operation has is deleted.",
		Example: "  opledger forget batches/abc123\n" +
			"  opledger forget batches/abc123 --yes\n" +
			"  opledger forget --intent nightly-2026-11-21",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := parseNamed(args[0])
			if err != nil && !intent {
				return err
			}
			l, closeStore, err := openReader(cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			agree := func(question string) error {
				if yes || agreed(outside, question) {
					return nil
				}
				return errors.New("nothing was deleted; answer y, or pass --yes")
			}
			if intent {
				err = forgetIntent(cmd.Context(), outside.out, l, args[0], agree)
			} else {
				err = forget(cmd.Context(), outside.out, l, name, agree)
			}
			return errors.Join(whereToLook(err), closeStore())
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().BoolVar(&intent, "intent", false, "NAME is a correlation id: delete its intent, which no operation has")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// forget looks what there is, and deletes it if agree does.
func forget(ctx context.Context, w io.Writer, l *ledger.Ledger, name named, agree func(string) error) error {
	key, err := name.key(ctx, l)
	if err != nil {
		return err
	}
	story, err := l.Show(ctx, key)
	there := contents(story)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return err
	case err != nil: // what cannot be read is deleted all the same
		there = "what is there cannot be told: " + dash(err.Error())
	}
	if err := agree(fmt.Sprintf("%s: %s. Delete it with everything under it, for good?", dash(string(key)), there)); err != nil {
		return err
	}
	n, err := l.Forget(ctx, key)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s forgotten: %s deleted\n", dash(string(key)), counted(n, "document"))
	return err
}

// contents say in words what a story consists of.
func contents(s ledger.Story) string {
	words := []string{"no record"}
	if s.Record.Version > 0 {
		words[0] = stateWord(s.Record)
	}
	words = append(words, fmt.Sprintf("deliveries: %d", len(s.Deliveries)))
	effects := make([]string, len(s.Effects))
	for i, e := range s.Effects {
		effects[i] = dash(e.Name) + " " + effectState(e)
		if e.Progress != nil {
			effects[i] += " with items"
		}
	}
	words = append(words, "effects: "+dash(strings.Join(effects, ", ")))
	for _, b := range s.Broken {
		words = append(words, "unreadable: "+dash(b.Error()))
	}
	if s.Record.CorrelationID != "" {
		words = append(words, "intent: "+dash(s.Record.CorrelationID))
	}
	return strings.Join(words, "; ")
}

// forgetIntent looks what is known of a correlation id, and deletes it if agree does.
func forgetIntent(ctx context.Context, w io.Writer, l *ledger.Ledger, id string, agree func(string) error) error {
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
	about := fmt.Sprintf("%s: %s", dash(id), intent.State)
	if intent.Operation != "" {
		about += " with " + dash(string(intent.Operation))
	}
	if intent.Waiting() {
		about += "; a job that was submitted with it will be nobody's"
	}
	if err := agree("The intent " + about + ". Delete it, for good?"); err != nil {
		return err
	}
	if err := l.ForgetIntent(ctx, intent); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "the intent %s forgotten\n", dash(id))
	return err
}
