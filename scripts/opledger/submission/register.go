package submission

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	registerfn "github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
)

// NewRegister makes opledger register.
func NewRegister(outside terminal.Environment) *cobra.Command {
	var submittedAt string
	var flags submissionFlags
	cmd := &cobra.Command{
		Use:   "register NAME",
		Short: "Record an operation that was submitted elsewhere",
		Long: "Records an operation in the ledger. Of a known operation the first job kind, submission time,\n" +
			"correlation id and metadata fields stay, and what is missing is added. It prints what was added and\n" +
			"what was kept. If the operation has ended, its effects run.",
		Example: "  opledger register batches/abc123 --job-kind batch-review-classify\n" +
			"  opledger register batches/abc123 --metadata '{\"dataset\":\"2026-11\"}' --submitted-at 2026-11-21T02:00:00Z",
		Args: terminal.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			request := registerfn.Request{Submission: flags.submission(), Name: args[0]}
			if submittedAt != "" {
				at, err := time.Parse(time.RFC3339, submittedAt)
				if err != nil {
					return terminal.Usage(fmt.Errorf("--submitted-at: %q is not a time such as 2026-11-21T02:00:00Z",
						submittedAt))
				}
				request.SubmittedAt = at
			}
			registration, err := request.Registration(time.Now())
			if err != nil {
				return terminal.Usage(err)
			}
			return register(cmd.Context(), outside, registration)
		},
	}
	open.WriterFlags(cmd, &outside)
	flags.add(cmd, "the id that you put in the operation's user metadata")
	cmd.Flags().StringVar(&submittedAt, "submitted-at", "", "when it was submitted, RFC 3339 (default now)")
	return cmd
}

// register records the operation, runs the effects that this planned, and prints the outcome.
func register(ctx context.Context, outside terminal.Environment, registration ledger.Registration) error {
	var result ledger.Registered
	err := open.Change(ctx, outside, func(w open.Writer) (err error) { // it plans effects if it has ended already
		result, err = w.Ledger.Operations.Register(ctx, registration)
		return err
	})
	if err != nil {
		return err
	}
	if result.CorrelationErr != nil {
		outside.Note("registered without its correlation id: %v", result.CorrelationErr)
	}
	if result.Withheld > 0 {
		outside.Note("effects withheld: %d, because it ended more than OPLEDGER_RETENTION ago; "+
			"opledger replay %s --effect EFFECT%s runs one", result.Withheld, phrase.ShellWord(string(result.Record.Key)),
			open.NamedFlag(outside))
	}
	return outside.Print(registerfn.Answer(result), "%s %s, %s%s", result.Record.Key, became(result), result.Record.State,
		mergedWords(result.Merged))
}

// became says what a registration changed.
func became(r ledger.Registered) string {
	switch {
	case r.Created:
		return "registered"
	case !r.FromEvent:
		return "already known"
	case r.Record.Settled():
		return "was known from an event, and is registered now, with " + phrase.Counted(r.Planned, "effect") + " planned"
	default:
		return "was known from an event, and is registered now; its effects are planned when it ends"
	}
}

// mergedWords say which facts about a known operation were added, and which it keeps instead.
func mergedWords(m ledger.Merged) string {
	var words string
	if len(m.Added) > 0 {
		words += "; added " + phrase.Safe(strings.Join(m.Added, ", "))
	}
	if len(m.Kept) > 0 {
		words += "; kept as it was: " + phrase.Safe(strings.Join(m.Kept, ", "))
	}
	return words
}
