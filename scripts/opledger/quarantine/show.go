package quarantine

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
)

// errBodyOnTerminal: the body comes from a sender that may not be trusted.
var errBodyOnTerminal = errors.New("--body prints what the sender wrote, which could command this terminal; " +
	"send it to a file or a pipe")

func newShow(outside terminal.Environment) *cobra.Command {
	var bodyOnly bool
	cmd := &cobra.Command{
		Use:   "show DELIVERY",
		Short: "Show one quarantined delivery: its reason, its headers, its body",
		Example: "  opledger quarantine show msg_2x…\n" +
			"  opledger quarantine show msg_2x… --body > body.json",
		Args: terminal.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return open.Reader(cmd.Context(), outside, func(l *ledger.Ledger) error {
				q, body, err := l.Quarantine.Read(cmd.Context(), args[0])
				switch {
				case err != nil:
					return withQuarantineRemedy(err, open.NamedFlag(outside))
				case bodyOnly && isTerminal(outside.Out):
					return terminal.Usage(errBodyOnTerminal)
				case bodyOnly:
					_, err = outside.Out.Write(body)
					return err
				case outside.JSON:
					q.Body = nil
					return terminal.PrintJSON(outside.Out, map[string]any{"delivery": q, "body": string(body)})
				}
				return printQuarantined(outside.Out, q, body)
			})
		},
	}
	open.LedgerFlags(cmd, &outside)
	cmd.Flags().BoolVar(&bodyOnly, "body", false, "print the body alone, byte for byte")
	terminal.Exclusive(cmd, "body", "json")
	return cmd
}

func printQuarantined(w io.Writer, q ledger.Quarantined, body []byte) error {
	out := terminal.NewTable(w)
	out.Line(phrase.Safe(q.ID), phrase.Safe(q.Reason))
	out.Line("  received", q.ReceivedAt)
	out.Line("  type", phrase.Safe(q.Type))
	out.Line("  why", phrase.Safe(q.Detail))
	out.Line("  retried", phrase.LocalTime(q.RetriedAt)+" "+phrase.Safe(string(q.Outcome)))
	out.Field("  resolved", phrase.Abandoned(q.Resolved))
	out.Line("  kept until", q.ExpireAt)
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) {
		out.Line("  "+phrase.Safe(name), phrase.Safe(q.Headers[name]))
	}
	out.Line("  body", fmt.Sprintf("%d bytes; --body prints them unchanged", len(body)))
	out.Line("\n" + phrase.Safe(string(body)))
	return out.End()
}

// isTerminal reports whether w is a terminal or another device.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
