package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// showSettings are what a story is told by beside the ledger.
type showSettings struct {
	Attempts config.Attempts
	Effects  struct {
		Paused bool `env:"OPLEDGER_EFFECTS_PAUSED" envDefault:"false"`
	}
}

func newShow(outside environment) *cobra.Command {
	var store string
	var asJSON, intent bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Tell one operation's story: its record, every delivery with its decision, every effect",
		Long: "Tells an operation's story: its record, every delivery with its decision, every effect: how many attempts it has had, for\n" +
			"how long it fails, when the next one is and when it is given up, and of one that is dead why, and what to do. Set\n" +
			"$OPLEDGER_MAX_ATTEMPTS, $OPLEDGER_RETRY_FOR and $OPLEDGER_EFFECTS_PAUSED as the functions have them. With --intent,\n" +
			"NAME is a correlation id.",
		Example: "  opledger show batches/abc123\n" +
			"  opledger show https://generativelanguage.googleapis.com/v1beta/batches/abc123 --json\n" +
			"  opledger show --intent nightly-2026-11-21",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, err := config.Parse[showSettings](outside.variables)
			if err != nil {
				return usageError{err}
			}
			name, err := parseNamed(args[0])
			if err != nil && !intent {
				return err
			}
			l, closeStore, err := openReader(cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			if intent {
				err = showIntent(cmd.Context(), outside.out, l, args[0], asJSON)
			} else {
				err = show(cmd.Context(), outside.out, l, name, telling{
					max: settings.Attempts.Max, retryFor: settings.Attempts.RetryFor, paused: settings.Effects.Paused, store: store,
				}, asJSON)
				err = perhapsIntent(err, name)
			}
			return errors.Join(whereToLook(err), closeStore())
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().BoolVar(&intent, "intent", false, "NAME is a correlation id: tell what is known of its intent")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func show(ctx context.Context, w io.Writer, l *ledger.Ledger, name named, t telling, asJSON bool) error {
	key, err := name.key(ctx, l)
	if err != nil {
		return err
	}
	story, err := l.Show(ctx, key)
	if err != nil {
		return err
	}
	if t.failed, err = failedItems(ctx, l, story); err != nil {
		return err
	}
	if asJSON {
		return printJSON(w, t.told(story))
	}
	if t.now, err = l.Now(ctx); err != nil {
		return err
	}
	return printStory(w, key, story, t)
}

func printStory(w io.Writer, key operation.Key, s ledger.Story, t telling) error {
	out := newSheet(w)
	if s.Record.Version > 0 {
		recordLines(out, s.Record)
	} else {
		out.line(dash(string(key)), "no record")
	}
	out.realign()

	out.line("\nRECEIVED", "SOURCE", "TYPE", "STATE", "DECISION", "REASON", "DELIVERY")
	for _, d := range s.Deliveries {
		out.line(d.ReceivedAt, d.Source, dash(d.Type), d.State, d.Outcome, d.Reason, dash(d.ID))
	}
	out.realign()
	out.line("\nEFFECT", "STATE", "PLANNED", "DONE", "ATTEMPTS", "NEXT ATTEMPT", "FENCE", "LAST ERROR")
	for _, e := range s.Effects {
		out.line(dash(e.Name), effectState(e), e.CreatedAt, e.DoneAt, e.Attempts, t.next(e), e.Fence, lastError(e))
	}
	for _, e := range s.Effects {
		if words := t.standing(e); words != "" {
			out.line("\n" + words)
		}
		if e.Progress != nil {
			out.line("\n" + dash(e.Name) + " items: " + progressWords(*e.Progress))
			for _, words := range t.failedWords(e) {
				out.line("  " + words)
			}
		}
		for i, replay := range e.Replays {
			words := dash(e.Name) + " replayed " + localTime(replay.At) + " by " + dash(replay.By)
			if replay.LastError != "" {
				words += "; it was dead: " + dash(replay.LastError)
			}
			if i == 0 {
				words = "\n" + words
			}
			out.line(words)
		}
		if e.Abandoned != nil {
			out.line("\n" + dash(e.Name) + " waived " + abandonedWords(*e.Abandoned))
		}
	}
	for _, b := range s.Broken {
		out.line("\n" + dash(string(b.Path)) + " " + unreadable(b))
	}
	for _, words := range t.withheld(s.Record) {
		out.line("\n" + words)
	}
	return out.end()
}

// recordLines tells what the record says.
func recordLines(out *sheet, r operation.Record) {
	out.line(dash(string(r.Key)), stateWord(r))
	out.line("  name", dash(r.Name))
	out.line("  job kind", dash(r.JobKind))
	out.line("  submitted", r.SubmittedAt)
	settled := localTime(r.SettledAt)
	if r.Settled() {
		settled += " by " + dash(string(r.SettledBy))
	}
	out.line("  settled", settled)
	out.line("  look-ups", r.Attempts)
	out.line("  next look-up", r.DueAt)
	if r.HasCondition() {
		out.line("  trouble", conditionWords(r))
	}
	if !r.StuckSince.IsZero() {
		out.line("  pending for too long", "since "+localTime(r.StuckSince))
	}
	if r.Abandoned != nil {
		out.line("  abandoned", abandonedWords(*r.Abandoned))
	}
	out.line("  correlation id", dash(r.CorrelationID))
	out.line("  output", dash(r.Result.OutputFile))
	if r.Result.ErrorCode != "" || r.Result.ErrorMessage != "" {
		out.line("  error", dash(strings.TrimSpace(r.Result.ErrorCode+" "+r.Result.ErrorMessage)))
	}
	out.line("  metadata", dash(string(r.Metadata)))
	out.line("  kept until", r.ExpireAt)
}

func effectState(e ledger.Effect) string {
	if e.Abandoned != nil {
		return string(e.State) + " (waived)"
	}
	return string(e.State)
}

func abandonedWords(a operation.Abandonment) string {
	return fmt.Sprintf("%s by %s: %s", localTime(a.At), dash(a.By), dash(a.Why))
}

// conditionWords say why the last look-ups learned nothing.
func conditionWords(r operation.Record) string {
	var words []string
	if !r.MissingSince.IsZero() {
		words = append(words, "not found at Gemini since "+localTime(r.MissingSince))
	}
	if r.Condition != "" && (r.Condition != string(ledger.ConditionNotFound) || len(words) == 0) {
		words = append(words, dash(r.Condition)+" since "+localTime(r.ConditionSince))
	}
	return strings.Join(words, ", ")
}
