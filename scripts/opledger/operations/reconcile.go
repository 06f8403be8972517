package operations

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/reconcile"
)

// NewReconcile makes opledger reconcile.
func NewReconcile(outside terminal.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reconcile [NAME]",
		Short: "Make one pass, or look one operation up, now",
		Long: "Makes one pass over everything that is due. With NAME it looks one operation up, due or not, and\n" +
			"applies Gemini's answer. Without a topic it runs due effects in this process, but none in a pause of\n" +
			"opledger serve. With OPLEDGER_EFFECTS_PAUSED=false it runs them all the same.\n\n" +
			"Where opledger serve runs on the ledger's file, it does either, with its settings, its API key and its\n" +
			"pause of effects. With --override-settings it is done here.",
		Example: "  opledger reconcile\n" +
			"  opledger reconcile batches/abc123",
		Args: terminal.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return makePass(cmd.Context(), outside)
			}
			name, err := open.ParseOperationName(args[0])
			if err != nil {
				return err
			}
			return lookUp(cmd.Context(), outside, name)
		},
	}
	open.WriterFlags(cmd, &outside)
	return cmd
}

// makePass has the serve that runs on the ledger make a pass, or makes one here.
func makePass(ctx context.Context, outside terminal.Environment) error {
	var unasked error
	if !outside.Override {
		var summary reconcile.Summary
		if summary, unasked = passOfServe(ctx, outside); unasked == nil {
			return printPass(outside, summary)
		}
	}
	return open.ChangeAtGemini(ctx, outside, unasked, func(w open.Writer) error {
		summary, err := w.Reconciler.Pass(ctx)
		if err != nil {
			return err
		}
		return printPass(outside, summary)
	})
}

// passOfServe asks the serve that runs on the ledger for a pass. The error is why none was made: none runs, or what
// stderr says. Two passes at once harm nothing, so that this process may make it.
func passOfServe(ctx context.Context, outside terminal.Environment) (summary reconcile.Summary, err error) {
	where, err := open.Find(outside)
	if err != nil {
		return summary, err // the settings are read again, with what is wrong
	}
	err = where.AskServe(ctx, "/reconcile", nil, &summary)
	noteServe(ctx, outside, where, err, "made the pass", "the pass is made here")
	return summary, err
}

// noteServe says on stderr that serve on the ledger did it, or why it is done here.
func noteServe(
	ctx context.Context, outside terminal.Environment, where open.Location, unasked error, did, here string,
) {
	switch {
	case unasked == nil:
		outside.Note("serve on the ledger %s %s, with its settings", where, did)
		where.NotePauseOfServe(ctx, outside)
	case !errors.Is(unasked, open.ErrNoServe):
		outside.Note("%v: %s", unasked, here)
	}
}

// printPass prints what a pass did. The error is that some items could not be handled.
func printPass(outside terminal.Environment, summary reconcile.Summary) error {
	words := fmt.Sprintf(
		"due %d, checked %d: settled %d, running %d, unknown %d, missing %d, stuck %d; effects requeued %d; errors %d",
		summary.Due, summary.Checked, summary.Settled, summary.Running, summary.Unknown, summary.Missing, summary.Stuck,
		summary.EffectsRequeued, summary.Errors)
	if summary.Newer > 0 {
		words += fmt.Sprintf("\nleft alone %s that a newer revision of opledger wrote: use that one, or a later one",
			phrase.Counted(summary.Newer, "document"))
	}
	if summary.More {
		words += "\nthe time, or the room for effects that wait to be run, ended before everything due was handled: run it " +
			"again, or leave the rest to the next pass"
	}
	err := outside.Print(summary, "%s", words)
	if err == nil && summary.Errors > 0 {
		err = fmt.Errorf("%s failed: the log says which and why; the next pass tries again",
			phrase.Counted(summary.Errors, "record"))
	}
	return err
}

// lookUp has the serve that runs on the ledger look an operation up, or looks it up here.
func lookUp(ctx context.Context, outside terminal.Environment, name open.OperationName) error {
	var unasked error
	if !outside.Override {
		var answer server.LookedUp
		if answer, unasked = lookUpByServe(ctx, outside, name); unasked == nil {
			return printLookedUp(outside, answer)
		}
	}
	return open.ChangeAtGemini(ctx, outside, unasked, func(w open.Writer) error {
		key, err := name.KeyIn(ctx, w.Ledger)
		if err != nil {
			return err
		}
		receipt, words, err := w.Actions().LookUp(ctx, key)
		if err != nil {
			return open.WithRemedy(err, outside)
		}
		return printLookedUp(outside, server.NewLookedUp(receipt, words))
	})
}

// printLookedUp prints what a look-up ended with.
func printLookedUp(outside terminal.Environment, answer server.LookedUp) error {
	if answer.Failed != "" {
		return errors.New(answer.Failed)
	}
	return outside.Print(map[string]any{
		"operation": answer.Operation, "state": answer.State, "outcome": answer.Outcome, "reason": answer.Reason,
	}, "%s", answer.Words)
}

// lookUpByServe asks the serve that runs on the ledger to look an operation up. The error is why it did not: none runs,
// or what stderr says.
func lookUpByServe(
	ctx context.Context, outside terminal.Environment, name open.OperationName,
) (answer server.LookedUp, err error) {
	where, err := open.Find(outside)
	if err == nil {
		name, err = name.In(ctx, outside)
	}
	if err != nil {
		return answer, err // both are found again, with what is wrong
	}
	err = where.AskServe(ctx, "/reconcile?operation="+url.QueryEscape(string(name.Key)), nil, &answer)
	if err == nil && answer.Operation == "" {
		err = errors.New("serve on the ledger, of an older version, made a pass instead")
	}
	noteServe(ctx, outside, where, err, "asked Gemini", "it is looked up here")
	return answer, err
}
