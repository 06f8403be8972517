package operations

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// waitEvery is how often wait reads the record.
const waitEvery = 2 * time.Second

// NewWait makes opledger wait.
func NewWait(outside terminal.Environment) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until an operation is settled and its effects are done",
		Long: "Waits until an operation is settled and none of its effects is open, and prints its state and those\n" +
			"of its effects. Exits with 1 if an effect is dead or withheld, if the waiting was abandoned, or after\n" +
			"--timeout. Otherwise it exits with 0, also where the operation FAILED; --json prints the state.\n\n" +
			"It reads the record every 2 s: one document. Of a job it also prints the progress: on a terminal in one\n" +
			"line, else in a line for each change. Every 30 s it also reads the steps of the open parts, and exits\n" +
			"with 1 if one is dead.",
		Example: "  opledger wait batches/abc123\n" +
			"  opledger wait jobs/nightly-2026-11-23\n" +
			"  opledger wait batches/abc123 --timeout 2h --json",
		Args: terminal.Args(cobra.ExactArgs(1)),
		RunE: open.Named(func(cmd *cobra.Command, name open.OperationName) error {
			if timeout < 0 {
				return terminal.Usage(fmt.Errorf("--timeout: it must not be below zero, not %v", timeout))
			}
			return open.Reader(cmd.Context(), outside, func(l *ledger.Ledger) error {
				rec, err := waitFor(cmd.Context(), outside, l, name, timeout)
				if err != nil {
					return err
				}
				of, err := jobProgress(cmd.Context(), l, rec.Key)
				if err != nil {
					return err
				}
				store := open.NamedFlag(outside)
				return errors.Join(printWaited(outside, rec, of, store), unfinished(rec, store))
			})
		}),
	}
	open.LedgerFlags(cmd, &outside)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this long; 0: never")
	return cmd
}

// waitFor returns the record once there is nothing more to wait for. On a terminal it prints the reason
// for the waiting in one line, which it overwrites. The timeout ends no read, so that its error can say
// that reason; 0: there is none.
func waitFor(
	ctx context.Context, outside terminal.Environment, l *ledger.Ledger, name open.OperationName, timeout time.Duration,
) (rec operation.Record, err error) {
	waiting := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("--timeout was over after %v", timeout))
		defer cancel()
	}
	key, err := name.KeyIn(ctx, l)
	if err != nil {
		return rec, err
	}
	p := terminal.NewProgress(outside)
	defer p.End()
	watched := jobWatch{ledger: l, key: key, store: open.NamedFlag(outside)}
	for {
		if rec, err = l.Operations.Read(ctx, key); err != nil {
			return rec, err
		}
		if rec.Abandoned != nil && !rec.Settled() || rec.Settled() && !slices.Contains(
			slices.Collect(maps.Values(rec.Effects)), operation.EffectOpen) || deadStep(rec) {
			return rec, nil
		}
		if err := watched.say(ctx, outside, p, rec); err != nil {
			return rec, err
		}
		if outside.Pause(waiting, waitEvery) != nil {
			why := context.Cause(waiting)
			if ctx.Err() != nil {
				why = fmt.Errorf("%w; the operation goes on, and can be waited for again", terminal.ErrInterrupted)
			}
			return rec, fmt.Errorf("waiting for %s (%s): %w", phrase.Safe(string(key)), watched.said, why)
		}
	}
}

// A waitedJSON is an operation that was waited for as JSON.
type waitedJSON struct {
	operation.Report
	Job *progress.Progress `json:"job,omitempty"`
}

func printWaited(outside terminal.Environment, rec operation.Record, of *progress.Progress, store string) error {
	if outside.JSON {
		return terminal.PrintJSON(outside.Out, waitedJSON{rec.Report(), of})
	}
	out := terminal.NewTable(outside.Out)
	out.Line(phrase.Safe(string(rec.Key)), phrase.State(rec), phrase.Effects(rec))
	if of != nil {
		out.Realign()
		out.Line(phrase.Progress(*of, store))
	}
	return out.End()
}

// unfinished returns an error if something of an operation will not be done by itself. store is what its command ends
// with.
func unfinished(rec operation.Record, store string) error {
	if !rec.Settled() && rec.Abandoned != nil {
		return fmt.Errorf("%s was abandoned %s",
			phrase.Safe(string(rec.Key)), phrase.Abandoned(rec.Abandoned))
	}
	var left []string
	for _, name := range slices.Sorted(maps.Keys(rec.Effects)) {
		if status := rec.Effects[name]; status == operation.EffectDead || status == operation.EffectWithheld {
			left = append(left, phrase.Safe(name)+" is "+string(status))
		}
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%s; see opledger show %s", strings.Join(left, ", "), phrase.ShellWord(string(rec.Key))+store)
}
