package operations

import (
	"context"
	"encoding/json"
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
			ctx := cmd.Context()
			var name open.OperationName
			var err error
			if len(args) == 1 {
				if name, err = open.ParseOperationName(args[0]); err != nil {
					return err
				}
			}
			var unasked error
			if len(args) == 0 && !outside.Override {
				var summary reconcile.Summary
				if summary, unasked = passOfServe(ctx, outside); unasked == nil {
					return printPass(outside, summary)
				}
			}
			if len(args) == 1 && !outside.Override {
				var answer server.LookedUp
				if answer, unasked = lookUpByServe(ctx, outside, name); unasked == nil {
					return printLookedUp(outside, answer)
				}
			}
			settings, where, err := open.ParsePass(outside, unasked)
			if err != nil {
				return err
			}
			s, err := open.Write(ctx, outside, settings.Server(), where, server.Options{})
			if err != nil {
				return err
			}
			if len(args) == 1 {
				err = reconcileOne(ctx, outside, s.Server, name)
			} else {
				var summary reconcile.Summary
				if summary, err = s.Reconciler.Pass(ctx); err == nil {
					err = printPass(outside, summary)
				}
			}
			s.Drain(ctx)
			return errors.Join(err, s.Close())
		},
	}
	open.WriterFlags(cmd, &outside)
	return cmd
}

// passOfServe asks the serve that runs on the ledger for a pass. The error is why none was made: none runs, or what
// stderr says. Two passes at once harm nothing, so that this process may make it.
func passOfServe(ctx context.Context, outside terminal.Environment) (summary reconcile.Summary, err error) {
	where, err := open.Find(outside)
	if err != nil {
		return summary, err // the settings are read again, with what is wrong
	}
	answer, err := where.AskServe(ctx, "/reconcile", nil)
	if err == nil {
		err = json.Unmarshal(answer, &summary)
	}
	switch {
	case err == nil:
		outside.Note("serve on the ledger %s made the pass, with its settings", where)
		where.NotePauseOfServe(ctx, outside)
	case !errors.Is(err, open.ErrNoServe):
		outside.Note("%v: the pass is made here", err)
	}
	return summary, err
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

func reconcileOne(ctx context.Context, outside terminal.Environment, s *server.Server, name open.OperationName) error {
	key, err := name.KeyIn(ctx, s.Ledger)
	if err != nil {
		return err
	}
	receipt, words, err := s.Actions().LookUp(ctx, key)
	if err != nil {
		return open.WithRemedy(err, outside)
	}
	return printLookedUp(outside, server.NewLookedUp(receipt, words))
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
	said, err := where.AskServe(ctx, "/reconcile?operation="+url.QueryEscape(string(name.Key)), nil)
	if err == nil {
		err = json.Unmarshal(said, &answer)
	}
	if err == nil && answer.Operation == "" {
		err = errors.New("serve on the ledger, of an older version, made a pass instead")
	}
	switch {
	case err == nil:
		outside.Note("serve on the ledger %s asked Gemini, with its settings", where)
		where.NotePauseOfServe(ctx, outside)
	case !errors.Is(err, open.ErrNoServe):
		outside.Note("%v: it is looked up here", err)
	}
	return answer, err
}
