package operations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A usageGroup is what jobs of one kind have used together.
type usageGroup struct {
	Kind  string `json:"kind,omitempty"`
	Model string `json:"model,omitempty"`
	Jobs  int    `json:"jobs"`
	// Requests are those of the jobs, Done those that are done.
	Requests int64     `json:"requests"`
	Done     int64     `json:"done"`
	Usage    job.Usage `json:"usage"`
	// EstimatedCost is what the usage costs, in dollars, by the prices that the jobs were submitted with. Unpriced are
	// the jobs that had none.
	EstimatedCost float64 `json:"estimatedCost,omitempty"`
	Unpriced      int     `json:"jobsWithoutPrice,omitempty"`
}

// add adds a job.
func (g *usageGroup) add(j job.Job) {
	g.Jobs, g.Requests, g.Done = g.Jobs+1, g.Requests+j.Input.Requests, g.Done+j.Counts.Done
	g.Usage = g.Usage.Add(j.Usage)
	if j.Price == nil {
		g.Unpriced++
	} else {
		g.EstimatedCost += j.Price.Cost(j.Usage)
	}
}

// cost says what the jobs have cost together.
func (g *usageGroup) cost() string {
	switch {
	case g.Unpriced == g.Jobs:
		return "-"
	case g.Unpriced > 0:
		return fmt.Sprintf("%s, and %s without a price", phrase.Dollars(g.EstimatedCost),
			phrase.Amount(int64(g.Unpriced), "job"))
	default:
		return phrase.Dollars(g.EstimatedCost)
	}
}

// usageFields are what --by takes.
func usageFields() []string { return []string{"kind", "model"} }

// NewUsage makes opledger usage.
func NewUsage(outside terminal.Environment) *cobra.Command {
	var since string
	var by []string
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show how many tokens jobs have used",
		Long: "Adds up the tokens of jobs by their kind and model: what Gemini counted in each result that was read, of\n" +
			"requests that were refused or failed, too. Thinking is paid as output; cached is a part of input. The cost\n" +
			"is an estimate by $OPLEDGER_PRICES of when each job was submitted, with cached input at the full price. It\n" +
			"reads two documents of each job. A job whose record has expired, $OPLEDGER_RETENTION after its end, is not\n" +
			"counted.",
		Example: "  opledger usage\n" +
			"  opledger usage --by model --since 7d --json",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, field := range by {
				if !slices.Contains(usageFields(), field) {
					return terminal.Usage(fmt.Errorf("--by: it must be %s, not %s%s", diag.OneOf(usageFields()),
						diag.Quote(field), diag.DidYouMean(field, usageFields())))
				}
			}
			from, err := terminal.ParsePast(since, outside.Time())
			if err != nil {
				return terminal.Usage(terminal.Prefixed("--since", err))
			}
			return open.Reader(cmd.Context(), outside, func(l *ledger.Ledger) error {
				groups, unread, err := readUsage(cmd.Context(), outside, l, from, by)
				if err == nil {
					err = printUsage(outside, groups, from)
				}
				if err == nil && unread > 0 {
					err = fmt.Errorf("the numbers leave out %s that cannot be read", phrase.Counted(unread, "document"))
				}
				return err
			})
		},
	}
	open.LedgerFlags(cmd, &outside)
	cmd.Flags().StringSliceVar(&by, "by", usageFields(), "a row for each of these: kind,model")
	cmd.Flags().StringVar(&since, "since", "30d", "only jobs submitted since then: an age such as 30d or 24h, or a time")
	terminal.Selectors(cmd, "since")
	return cmd
}

// readUsage adds up the jobs since a time, by the fields. unread are the documents that cannot be read.
func readUsage(
	ctx context.Context, outside terminal.Environment, l *ledger.Ledger, since time.Time, by []string,
) (groups []usageGroup, unread int, err error) {
	found := map[[2]string]*usageGroup{}
	filter := ledger.Filter{Collection: operation.Jobs, Since: since, Limit: 100}
	err = open.EachPage(ctx, l, filter, func(page ledger.Page[operation.Record]) error {
		unread += len(page.Broken)
		for _, broken := range page.Broken {
			outside.Note("%s %s", phrase.Safe(string(broken.Path)), phrase.Broken(broken))
		}
		for _, rec := range page.Items {
			j, err := l.Jobs.Read(ctx, rec.Key)
			if errors.Is(err, ledger.ErrNoJob) { // it was forgotten meanwhile
				continue
			}
			if err != nil {
				return err
			}
			var key [2]string
			for i, value := range []string{j.JobKind, j.Options.Model} {
				if slices.Contains(by, usageFields()[i]) {
					key[i] = value
				}
			}
			if found[key] == nil {
				found[key] = &usageGroup{Kind: key[0], Model: key[1]}
			}
			found[key].add(j.Job)
		}
		return nil
	})
	groups = make([]usageGroup, 0, len(found))
	for _, group := range found {
		groups = append(groups, *group)
	}
	slices.SortFunc(groups, func(a, b usageGroup) int {
		return cmp.Or(cmp.Compare(b.Usage.Total(), a.Usage.Total()), strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Model, b.Model))
	})
	return groups, unread, err
}

func printUsage(outside terminal.Environment, groups []usageGroup, since time.Time) error {
	if outside.JSON {
		return terminal.PrintJSON(outside.Out, map[string]any{"since": since.UTC(), "usage": groups})
	}
	if len(groups) == 0 {
		_, err := io.WriteString(outside.Out, "no jobs since "+phrase.LocalTime(since)+"\n")
		return err
	}
	out := terminal.NewTable(outside.Out)
	out.Line("KIND", "MODEL", "JOBS", "REQUESTS", "DONE", "INPUT", "CACHED", "OUTPUT", "THINKING", "TOKENS",
		"ESTIMATED COST")
	for _, g := range groups {
		out.Line(phrase.Safe(g.Kind), phrase.Safe(g.Model), g.Jobs, phrase.Number(g.Requests), phrase.Number(g.Done),
			phrase.Number(g.Usage.Input), phrase.Number(g.Usage.Cached), phrase.Number(g.Usage.Output),
			phrase.Number(g.Usage.Thinking), phrase.Number(g.Usage.Total()), g.cost())
	}
	return out.End()
}
