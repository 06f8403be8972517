package quarantine

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

func newRetry(outside terminal.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retry DELIVERY...",
		Short: "Ingest quarantined deliveries that this revision can read",
		Long: "Reads the bodies again with this revision, and ingests what it can read. It does so under the\n" +
			"delivery's own id, so that none is ingested twice. The bodies stay in quarantine until their retention\n" +
			"ends.",
		Example: "  opledger quarantine retry msg_2x…",
		Args:    terminal.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return open.Change(cmd.Context(), outside, func(w open.Writer) error {
				return retryQuarantined(cmd.Context(), outside, w.Ledger, args)
			})
		},
	}
	open.WriterFlags(cmd, &outside)
	return cmd
}

// A retriedJSON is what became of a quarantined delivery, as JSON.
type retriedJSON struct {
	Delivery  string           `json:"delivery"`
	Outcome   ledger.Outcome   `json:"outcome"`
	Reason    operation.Reason `json:"reason,omitempty"`
	Operation operation.Key    `json:"operation"`
	State     operation.State  `json:"state"`
}

// retryQuarantined ingests each of these deliveries, and prints what became of it. The error joins
// those of all that could not be ingested.
func retryQuarantined(ctx context.Context, outside terminal.Environment, l *ledger.Ledger, ids []string) error {
	retried := []retriedJSON{}
	var problems []error
	for _, id := range ids {
		receipt, words, err := (&actions.Actions{Ledger: l}).Retry(ctx, id)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", phrase.Safe(id),
				withQuarantineRemedy(err, open.NamedFlag(outside))))
			continue
		}
		retried = append(retried, retriedJSON{id, receipt.Outcome, receipt.Reason, receipt.Key, receipt.State})
		if !outside.JSON {
			_, err = fmt.Fprintln(outside.Out, words)
		}
		problems = append(problems, err)
	}
	if outside.JSON {
		problems = append(problems, terminal.PrintJSON(outside.Out, map[string]any{"deliveries": retried}))
	}
	return errors.Join(problems...)
}
