package operations

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// NewForget makes opledger forget.
func NewForget(outside terminal.Environment) *cobra.Command {
	var results bool
	cmd := &cobra.Command{
		Use:   "forget NAME",
		Short: "Delete an operation and everything recorded about it",
		Long: "Permanently deletes an operation's record, its deliveries, its effects and its intent. It lists them\n" +
			"and asks first. If the operation is registered or adopted again later, its effects run again: delete\n" +
			"the job at Gemini, too.\n\n" +
			"Of a job that has ended it deletes the plan, the parts and the intents, too. Its input and its results\n" +
			"stay in job storage, unless --results deletes them: then its id may be given to another job.",
		Example: "  opledger forget batches/abc123\n" +
			"  opledger forget jobs/nightly-2026-11-23 --results\n" +
			"  opledger forget batches/abc123 --yes",
		Args: terminal.Args(cobra.ExactArgs(1)),
		RunE: open.Named(func(cmd *cobra.Command, name open.OperationName) error {
			if results {
				var err error
				if name, err = name.In(cmd.Context(), outside); err != nil {
					return err
				}
			}
			f := forgetting{outside: outside, name: name, results: results}
			if err := f.check(); err != nil {
				return err
			}
			return open.Ledger(cmd.Context(), outside, false, func(l *ledger.Ledger) error {
				f.ledger = l
				return f.forget(cmd.Context())
			})
		}),
	}
	open.LedgerFlags(cmd, &outside)
	terminal.YesFlag(cmd, &outside)
	cmd.Flags().BoolVar(&results, "results", false, "of a job: delete its input and its results, too")
	return cmd
}

// A forgetting is one call of forget.
type forgetting struct {
	outside terminal.Environment
	name    open.OperationName
	results bool
	// storage is the job storage of this process, and emulator as in storage.Open.
	storage, emulator string

	ledger *ledger.Ledger
}

// forget lists what is recorded about the operation, asks, and deletes it.
func (f forgetting) forget(ctx context.Context) error {
	key, err := f.name.KeyIn(ctx, f.ledger)
	if err != nil {
		return err
	}
	story, err := f.ledger.Operations.Show(ctx, key)
	there := contents(story)
	switch {
	case errors.Is(err, ledger.ErrNotFound) && f.results:
		there = "no record"
	case errors.Is(err, ledger.ErrNotFound):
		return err
	case err != nil: // it can be deleted without being read
		there = "what is recorded cannot be read: " + phrase.Safe(err.Error())
	}
	objects, err := f.objects(ctx, story)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("%s: %s%s. Delete all of it permanently?", phrase.Safe(string(key)), there, objects.words())
	if err := terminal.Agree(ctx, f.outside, question, "nothing was deleted"); err != nil {
		return err
	}
	if err := objects.delete(ctx); err != nil { // before the plan, which says where they are
		return err
	}
	n, err := f.ledger.Operations.Forget(ctx, key)
	if err != nil && !(errors.Is(err, ledger.ErrNotFound) && len(objects.names) > 0) {
		return err
	}
	return f.outside.Print(forgottenJSON{key, n, len(objects.names)}, "%s forgotten: %s deleted%s",
		phrase.Safe(string(key)), phrase.Counted(n, "document"), objects.words())
}

// A forgottenJSON is what was deleted as JSON: documents of the ledger, and objects of job storage.
type forgottenJSON struct {
	Operation operation.Key `json:"operation"`
	Deleted   int           `json:"deleted"`
	Objects   int           `json:"objects,omitempty"`
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
