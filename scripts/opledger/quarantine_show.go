package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// errBodyOnTerminal: the body comes from a sender that may not be trusted.
var errBodyOnTerminal = errors.New("--body prints what the sender wrote, which could command this terminal; " +
	"send it to a file or a pipe")

func newQuarantineShow(outside environment) *cobra.Command {
	var store string
	var bodyOnly bool
	cmd := &cobra.Command{
		Use:   "show DELIVERY",
		Short: "Show one quarantined delivery: its reason, its headers, its body",
		Example: "  opledger quarantine show msg_2x…\n" +
			"  opledger quarantine show msg_2x… --body > body.json",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, closeStore, err := openReader(cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			q, body, err := l.ReadQuarantined(cmd.Context(), args[0])
			if err = errors.Join(withQuarantineRemedy(err), closeStore()); err != nil {
				return err
			}
			switch {
			case bodyOnly && isTerminal(outside.out):
				return usageError{errBodyOnTerminal}
			case bodyOnly:
				_, err = outside.out.Write(body)
				return err
			case outside.json:
				q.Body = nil
				return printJSON(outside.out, map[string]any{"delivery": q, "body": string(body)})
			}
			return printQuarantined(outside.out, q, body)
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().BoolVar(&bodyOnly, "body", false, "print the body alone, byte for byte")
	jsonFlag(cmd, &outside)
	exclusive(cmd, "body", "json")
	return cmd
}

func printQuarantined(w io.Writer, q ledger.Quarantined, body []byte) error {
	out := newTable(w)
	out.line(phrase.Safe(q.ID), phrase.Safe(q.Reason))
	out.line("  received", q.ReceivedAt)
	out.line("  type", phrase.Safe(q.Type))
	out.line("  why", phrase.Safe(q.Detail))
	out.line("  retried", phrase.LocalTime(q.RetriedAt)+" "+phrase.Safe(string(q.Outcome)))
	if q.Resolved != nil {
		out.line("  resolved", phrase.Abandoned(*q.Resolved))
	}
	out.line("  kept until", q.ExpireAt)
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) {
		out.line("  "+phrase.Safe(name), phrase.Safe(q.Headers[name]))
	}
	out.line("  body", fmt.Sprintf("%d bytes; --body prints them unchanged", len(body)))
	out.line("\n" + phrase.Safe(string(body)))
	return out.end()
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
