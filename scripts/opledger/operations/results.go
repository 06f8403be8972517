package operations

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/operation"
)

// NewResults makes opledger results.
func NewResults(outside terminal.Environment) *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "results NAME",
		Short: "Print the results of a batch, one line for each request",
		Long: "Prints the results of a batch that has ended, from the file or inline, as JSON Lines: each with the\n" +
			"key of its request and its response or error, in the order in which Gemini sends them. Also of a batch\n" +
			"that failed or was cancelled, where Gemini has results of it. Exits with 1 where requests have no line,\n" +
			"or a key stands twice or is missing, which stderr says. After a download that broke off what was printed\n" +
			"is not whole: run it again.",
		Example: "  opledger results batches/abc123 > results.jsonl",
		Args:    terminal.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := open.ParseOperationName(args[0])
			if err != nil {
				return err
			}
			settings, l, err := open.Read[struct{ Gemini config.Gemini }](cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			rec, err := settledBatch(cmd.Context(), l, name)
			if err = errors.Join(open.WithRemedy(err), l.Store.Close()); err != nil {
				return err
			}
			client, err := cloud.Results(cmd.Context(), config.Results{Gemini: settings.Gemini, Wanted: true})
			if err != nil {
				return err
			}
			return printResults(cmd.Context(), outside.Out, client, rec)
		},
	}
	open.StoreFlag(cmd, &store)
	return cmd
}

func settledBatch(ctx context.Context, l open.Reading, name open.OperationName) (rec operation.Record, err error) {
	key, err := name.KeyIn(ctx, l.Ledger)
	if err != nil {
		return rec, err
	}
	if rec, err = l.Operations.Read(ctx, key); err == nil && !rec.Settled() {
		err = fmt.Errorf("%s has no results yet: it is %s; opledger wait %s waits for them", phrase.Safe(string(key)),
			phrase.State(rec), phrase.ShellWord(string(key)))
	}
	return rec, err
}

// A resultLine is one item of a result, in the form of a line of Gemini's own result files.
type resultLine struct {
	Key      string          `json:"key,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
	Error    json.RawMessage `json:"error,omitempty"`
}

// printResults prints the items of a batch's result. The error says what of them is missing or not as it
// should be.
func printResults(ctx context.Context, w io.Writer, client *results.Client, rec operation.Record) error {
	count, countErr := client.Count(ctx, rec.Key)
	items, err := client.Open(ctx, rec.Key, rec.Result)
	if err != nil {
		return fmt.Errorf("opening the results of %s: %w", rec.Key, err)
	}
	defer items.Close() //nolint:errcheck // they were read to their end, or cannot be
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false) // as Gemini sent it
	for {
		item, err := items.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(terminal.Unread(fmt.Errorf("reading the results of %s: %w; what was printed is not whole: "+
				"run it again", rec.Key, err)), out.Flush())
		}
		if err := lines.Encode(resultLine{item.Key, item.Response, item.Error}); err != nil {
			return fmt.Errorf("printing the results of %s: %w", rec.Key, err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("printing the results of %s: %w", rec.Key, err)
	}
	var problems []error
	read := items.Tally()
	if countErr != nil {
		problems = append(problems, fmt.Errorf("how many there should be is not known: %w", countErr))
	}
	if missing := count - read.Items; missing > 0 {
		problems = append(problems, fmt.Errorf("%s without a line, of %d", phrase.Counted(int(missing), "request"), count))
	}
	if read.Repeated > 0 {
		problems = append(problems, fmt.Errorf("%s with the key of a line before",
			phrase.Counted(int(read.Repeated), "line")))
	}
	if read.Unkeyed > 0 {
		problems = append(problems, fmt.Errorf("%s without a key, and Gemini keeps no order of requests",
			phrase.Counted(int(read.Unkeyed), "line")))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("the results of %s: %w", rec.Key, err)
	}
	return nil
}
