package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

func newShow(outside environment) *cobra.Command {
	var store string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Tell one operation's story: its record, every delivery with its decision, every effect",
		Example: "  opledger show batches/abc123\n" +
			"  opledger show https://generativelanguage.googleapis.com/v1beta/batches/abc123 --json",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := parseNamed(args[0])
			if err != nil {
				return err
			}
			l, closeStore, err := openReader(cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			var story ledger.Story
			key, err := name.key(cmd.Context(), l)
			if err == nil {
				story, err = l.Show(cmd.Context(), key)
			}
			if err = errors.Join(whereToLook(err), closeStore()); err != nil {
				return err
			}
			if asJSON {
				// Nothing is an empty list, not null.
				story.Deliveries = append([]ledger.Delivery{}, story.Deliveries...)
				story.Effects = append([]ledger.Effect{}, story.Effects...)
				return printJSON(outside.out, story)
			}
			return printStory(outside.out, story)
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printStory(w io.Writer, s ledger.Story) error {
	r := s.Record
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var errs []error
	line := func(cells ...any) {
		for i, cell := range cells {
			if at, ok := cell.(time.Time); ok {
				cell = localTime(at)
			}
			separator := "\t"
			if i == len(cells)-1 {
				separator = "\n"
			}
			_, err := fmt.Fprint(out, cell, separator)
			errs = append(errs, err)
		}
	}
	line(dash(string(r.Key)), stateWord(r))
	line("  name", dash(r.Name))
	line("  job kind", dash(r.JobKind))
	line("  submitted", r.SubmittedAt)
	settled := localTime(r.SettledAt)
	if r.Settled() {
		settled += " by " + dash(string(r.SettledBy))
	}
	line("  settled", settled)
	line("  look-ups", r.Attempts)
	line("  next look-up", r.DueAt)
	if r.InTrouble() {
		line("  trouble", troubleWords(r))
	}
	if !r.StuckSince.IsZero() {
		line("  pending for too long", "since "+localTime(r.StuckSince))
	}
	if r.Abandoned != nil {
		line("  abandoned", abandonedWords(*r.Abandoned))
	}
	line("  correlation id", dash(r.CorrelationID))
	line("  output", dash(r.Result.OutputFile))
	if r.Result.ErrorCode != "" || r.Result.ErrorMessage != "" {
		line("  error", dash(strings.TrimSpace(r.Result.ErrorCode+" "+r.Result.ErrorMessage)))
	}
	line("  metadata", dash(string(r.Metadata)))
	line("  kept until", r.ExpireAt)
	errs = append(errs, out.Flush())

	line("\nRECEIVED", "SOURCE", "TYPE", "STATE", "DECISION", "REASON", "DELIVERY")
	for _, d := range s.Deliveries {
		line(d.ReceivedAt, d.Source, dash(d.Type), d.State, d.Outcome, d.Reason, dash(d.ID))
	}
	errs = append(errs, out.Flush())
	line("\nEFFECT", "STATE", "PLANNED", "DONE", "ATTEMPTS", "FENCE", "LAST ERROR")
	for _, e := range s.Effects {
		line(dash(e.Name), effectState(e), e.CreatedAt, e.DoneAt, e.Attempts, e.Fence, dash(e.LastError))
	}
	for _, e := range s.Effects {
		if e.Progress != nil {
			line("\n" + dash(e.Name) + " items: " + progressWords(*e.Progress))
		}
		for _, replay := range e.Replays {
			line("\n" + dash(e.Name) + " replayed " + localTime(replay.At) + " by " + dash(replay.By))
		}
		if e.Abandoned != nil {
			line("\n" + dash(e.Name) + " waived " + abandonedWords(*e.Abandoned))
		}
	}
	return errors.Join(append(errs, out.Flush())...)
}

func effectState(e ledger.Effect) string {
	if e.Abandoned != nil {
		return string(e.State) + " (waived)"
	}
	return string(e.State)
}

// progressWords say how far an effect has come that runs once per item.
func progressWords(p ledger.ItemProgress) string {
	total := "nobody knows yet how many"
	if p.Total > 0 {
		total = strconv.FormatInt(p.Total, 10)
	}
	words := fmt.Sprintf("%d done, %d failed, of %s", p.Done, p.Failed, total)
	if len(p.Waiting) > 0 {
		words += fmt.Sprintf("; %d are tried again", len(p.Waiting))
	}
	return words
}

func abandonedWords(a operation.Abandonment) string {
	return fmt.Sprintf("%s by %s: %s", localTime(a.At), dash(a.By), dash(a.Why))
}

// troubleWords say why the last look-ups learned nothing.
func troubleWords(r operation.Record) string {
	var words []string
	if !r.MissingSince.IsZero() {
		words = append(words, "not found at Gemini since "+localTime(r.MissingSince))
	}
	if r.Trouble != "" && (r.Trouble != string(ledger.TroubleNotFound) || len(words) == 0) {
		words = append(words, dash(r.Trouble)+" since "+localTime(r.TroubleSince))
	}
	return strings.Join(words, ", ")
}
