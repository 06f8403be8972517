package operations

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	effectresults "github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/operation"
)

// NewResults makes opledger results.
func NewResults(outside terminal.Environment) *cobra.Command {
	var kind string
	var merged bool
	cmd := &cobra.Command{
		Use:   "results NAME",
		Short: "Print the results of a batch or a job, one line for each request",
		Long: "Prints the results of a batch that has ended, from the file or inline, as JSON Lines: each with the\n" +
			"key of its request and its response or error, in the order in which Gemini sends them. A batch\n" +
			"that failed or was cancelled may have results, too. Where an effect of OPLEDGER_EFFECTS has put them\n" +
			"in a collection or a bucket, they come from there, without an API key.\n\n" +
			"Exits with 1 if a request has no line, a line has no key, or two lines have one key; stderr says which.\n" +
			"Exits with 3 if Gemini could not be asked, or a download broke off. Then the output is incomplete: run it\n" +
			"again.\n\n" +
			"The results of a job are in job storage. Each key has one line, with its outcome and its attempts. Before\n" +
			"the job has ended, only final lines are printed, and it exits with 1. --kind failed prints the results\n" +
			"that are not done, each with its request, ready to be submitted again. --kind unmatched prints Gemini's\n" +
			"lines that belong to no request. --merged prints the results of the job, of those that it redrives and of\n" +
			"those that redrive them: each key once, as the last of these jobs has it.",
		Example: "  opledger results batches/abc123 > results.jsonl\n" +
			"  opledger results jobs/nightly-2026-11-23 > results.jsonl\n" +
			"  opledger results jobs/nightly-2026-11-23 --kind failed > again.jsonl\n" +
			"  opledger results jobs/nightly-2026-11-23 --merged > results.jsonl",
		Args: terminal.Args(cobra.ExactArgs(1)),
		RunE: open.Named(func(cmd *cobra.Command, name open.OperationName) error {
			name, err := name.In(cmd.Context(), outside)
			if err != nil {
				return err
			}
			if err := checkKind(kind, merged, name); err != nil {
				return terminal.Usage(err)
			}
			if merged {
				kind = files.Merged
			}
			if name.IsJob() {
				return jobResults(cmd.Context(), outside, name.Key, kind)
			}
			settings, l, err := open.Read[batchSettings](cmd.Context(), outside)
			if err != nil {
				return err
			}
			rec, err := settledBatch(cmd.Context(), l, name)
			stored := false
			if err == nil {
				stored, err = storedResults(cmd.Context(), outside.Out, l, settings, rec)
			}
			if err = errors.Join(open.WithRemedy(err, outside), l.Store.Close()); err != nil || stored {
				return err
			}
			asked, err := config.Parse[struct{ Gemini config.Gemini }](outside.Variables)
			if err != nil {
				return terminal.Usage(err)
			}
			client, err := cloud.Results(cmd.Context(), config.Results{Gemini: asked.Gemini, Wanted: true}, nil)
			if err != nil {
				return err
			}
			return printResults(cmd.Context(), outside.Out, client, rec)
		}),
	}
	cmd.Flags().StringVar(&kind, "kind", files.Results, "of a job: results, failed or unmatched")
	cmd.Flags().BoolVar(&merged, "merged", false, "of a job: its results and those of its redrives, each key once")
	open.StoreFlag(cmd, &outside)
	return cmd
}

// batchSettings say where effects put the results of a batch. The API key is read only where Gemini is asked.
type batchSettings struct {
	Ledger   config.Ledger
	Emulator struct {
		Address string `env:"STORAGE_EMULATOR_HOST"` // of an emulated Cloud Storage, for tests
	}
}

// storedResults prints the results of a batch from where an effect has put them, and reports whether there were any.
func storedResults(
	ctx context.Context, w io.Writer, l open.Reading, settings batchSettings, rec operation.Record,
) (bool, error) {
	out := bufio.NewWriter(w)
	copied, err := effectresults.CopyStored(ctx, out, effectresults.Stored{
		Ledger: l.Ledger.Reading(), Effects: settings.Ledger.Effects, Emulator: settings.Emulator.Address,
	}, rec)
	if err = errors.Join(err, out.Flush()); err != nil {
		err = terminal.Unread(fmt.Errorf("%w; what was printed is not whole: run it again", err))
	}
	if err != nil || !copied.Found {
		return copied.Found, err
	}
	expected := copied.Lines + copied.Deleted // of a batch whose number of requests the ledger does not have
	if known := rec.Result.Counts; known != nil && known.Total > 0 {
		expected = known.Total
	}
	if err = wholeResult(expected, results.Tally{Items: copied.Lines}); err != nil {
		err = fmt.Errorf("the results of %s, as an effect has put them: %w", rec.Key, err)
	}
	return true, err
}

func settledBatch(ctx context.Context, l open.Reading, name open.OperationName) (rec operation.Record, err error) {
	key, err := name.KeyIn(ctx, l.Ledger)
	if err != nil {
		return rec, err
	}
	if rec, err = l.Operations.Read(ctx, key); err == nil && !rec.Settled() {
		err = fmt.Errorf("%s has no results yet: it is %s; opledger wait %s waits for them", phrase.Safe(string(key)),
			phrase.State(rec), phrase.ShellWord(string(key))+phrase.StoreFlag(l.Where.Named()))
	}
	return rec, err
}

// printResults prints the items of a batch's result. The error says how many requests have no line, and how
// many lines are wrong.
func printResults(ctx context.Context, w io.Writer, client *results.Client, rec operation.Record) error {
	expected, countErr := expectedItems(ctx, client, rec)
	out := bufio.NewWriter(w)
	tally, err := client.CopyLines(ctx, out, rec)
	if err != nil {
		return errors.Join(unreadResults(fmt.Errorf("%w; what was printed is not whole: run it again", err)), out.Flush())
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("printing the results of %s: %w", rec.Key, err)
	}
	if countErr != nil {
		return fmt.Errorf("how many results %s should have is not known: %w", rec.Key, countErr)
	}
	if err := wholeResult(expected, tally); err != nil {
		return fmt.Errorf("the results of %s: %w", rec.Key, err)
	}
	return nil
}

// expectedItems returns how many requests a batch has: as the ledger has it from a look-up, else as Gemini
// says.
func expectedItems(ctx context.Context, client *results.Client, rec operation.Record) (int64, error) {
	if known := rec.Result.Counts; known != nil && known.Total > 0 {
		return known.Total, nil
	}
	count, err := client.Count(ctx, rec.Key)
	switch {
	case err != nil:
		return 0, unreadResults(err)
	case count == 0:
		return 0, errors.New("neither Gemini nor the ledger has the number of its requests")
	}
	return count, nil
}

// wholeResult returns an error if not every one of the expected requests has exactly one line with a key.
func wholeResult(expected int64, read results.Tally) error {
	var problems []error
	say := func(n int64, what, words string) {
		if n > 0 {
			problems = append(problems, fmt.Errorf("%s %s", phrase.Counted(int(n), what), words))
		}
	}
	answers := read.Items - read.Repeated
	say(expected-answers, "request", fmt.Sprintf("without a line, of %d", expected))
	say(answers-expected, "line", fmt.Sprintf("more than its %d requests", expected))
	say(read.Repeated, "line", "with the key of a line before")
	say(read.Unkeyed, "line", "without a key, and Gemini keeps no order of requests")
	return errors.Join(problems...)
}

// unreadResults marks an error after which the results may be read later.
func unreadResults(err error) error {
	var answer *api.Error
	if errors.As(err, &answer) && answer.Refused() || errors.Is(err, results.ErrNotFound) ||
		errors.Is(err, results.ErrNone) || errors.Is(err, results.ErrTooLarge) {
		return err
	}
	return terminal.Unread(err)
}
